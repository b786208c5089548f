/// The two official relays that a chat needs, with a folder for the test.
public final class OfficialRelays: Sendable {
    public let folder: TemporaryFolder
    public let messages: OfficialRelay
    public let files: OfficialRelay

    /// What `simplex-chat` needs to use these and no others.
    public var arguments: [String] { ["-s", messages.address, "--xftp-server", files.address] }

    public init() async throws {
        let folder = try TemporaryFolder()
        messages = try await .messages(in: folder)
        files = try await .files(in: folder)
        self.folder = folder
    }

    /// Ends both; what they stored goes with the folder.
    public func stop() async throws {
        try await files.stop()
        try await messages.stop()
    }
}
