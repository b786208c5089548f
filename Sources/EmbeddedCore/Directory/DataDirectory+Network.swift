import ChatCore

/// Network settings of profiles. All methods block.
extension DataDirectory {
    public func networkChoice(of profile: Profile) throws(ChatError) -> NetworkChoice {
        try read { try $0.profiles.network(of: profile.id) }
    }

    /// Stores a profile's network settings. They apply when the profile is next opened; receipts at once.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func setNetworkChoice(_ choice: NetworkChoice, of profile: Profile) throws(ChatError) {
        try change { try $0.profiles.setNetwork(choice, of: profile.id) }
    }
}
