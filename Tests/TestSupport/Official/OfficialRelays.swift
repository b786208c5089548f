/// The two official relays for a chat, in the test's folder.
public final class OfficialRelays: Sendable {
    public let folder: TemporaryFolder
    public let messages: OfficialRelay
    public let files: OfficialRelay

    /// The arguments for `simplex-chat` to use only these.
    public var arguments: [String] { ["-s", messages.address, "--xftp-server", files.address] }

    public init() async throws {
        let folder = try TemporaryFolder()
        messages = try await .messages(in: folder)
        files = try await .files(in: folder)
        self.folder = folder
    }

    /// Ends both; their data is removed with the folder.
    public func stop() async throws {
        try await files.stop()
        try await messages.stop()
    }
}
