import ChatCore

/// How the profiles of a directory reach the network. All methods block, and throw `.storage` or `.file(.noSpace)`.
extension DataDirectory {
    public func networkChoice(of profile: Profile) throws(ChatError) -> NetworkChoice {
        try wrapping { try store.read { try $0.profiles.network(of: profile.id) } }
    }

    /// Counts from the next time the profile is opened; receipts at once.
    public func setNetworkChoice(_ choice: NetworkChoice, of profile: Profile) throws(ChatError) {
        try wrapping { try store.change { try $0.profiles.setNetwork(choice, of: profile.id) } }
    }
}
