import ChatCore

/// How the profiles of a directory reach the network. All methods block.
extension DataDirectory {
    /// - Throws: `.storage`.
    public func networkChoice(of profile: Profile) throws(ChatError) -> NetworkChoice {
        try wrapping { try store.read { try $0.profiles.network(of: profile.id) } }
    }

    /// Counts from the next time the profile is opened; receipts at once.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func setNetworkChoice(_ choice: NetworkChoice, of profile: Profile) throws(ChatError) {
        try wrapping { try store.change { try $0.profiles.setNetwork(choice, of: profile.id) } }
    }
}
