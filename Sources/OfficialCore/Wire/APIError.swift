import ChatCore
import JSON

/// An error as the official core reports it (`ChatError` of the chat API): the names of its
/// alternatives from the outside in, with the few fields that ChatFS acts on.
///
/// `{"type":"errorAgent","agentError":{"type":"XFTP","xftpErr":{"type":"AUTH"}}}` is
/// `["errorAgent", "XFTP", "AUTH"]`. What each means stands in the table of `APIError+Meaning.swift`.
public struct APIError: Hashable, Sendable {
    public var path: [String]
    /// The core's words. May name files: for `debug` only.
    public var message: String?
    /// Relays that are not configured (`fileNotApproved`).
    public var unknownRelays: [String]
    /// The file that the core does not receive because of them.
    public var refusedFile: FileID?
    /// Why a relay blocks a file: `spam`, `content`, …
    public var blockingReason: String?
    /// What the agent was doing, in its words. For `debug` only.
    public var context: String?

    public init(
        path: [String], message: String? = nil, unknownRelays: [String] = [], refusedFile: FileID? = nil,
        blockingReason: String? = nil, context: String? = nil
    ) {
        self.path = path
        self.message = message
        self.context = context
        self.unknownRelays = unknownRelays
        self.refusedFile = refusedFile
        self.blockingReason = blockingReason
    }

    /// Whether one of the alternatives is called so.
    public func has(_ name: String) -> Bool { path.contains(name) }

    /// Members that hold a more exact error than the object they are in, in the order of search.
    private static let inner: [StaticString] = [
        "errorType", "agentError", "storeError", "databaseError", "sqliteError", "xftpErr", "fileErr",
        "smpErr", "brokerErr",
        "cmdErr", "srvError", "fileError", "sndFileError", "rcvFileError", "chatError", "internalErr",
    ]

    init(_ json: JSONValue) {
        path = []
        unknownRelays = []
        var value: JSONValue? = json
        // Errors nest at most four deep; the document itself may nest deeper.
        for _ in 0..<8 {
            guard let current = value else { break }
            if let name = current.type { path.append(name) }
            if current.type == "fileNotApproved" {
                refusedFile = current["fileId"]?.integer.map { FileID($0) }
            }
            message = message ?? current["message"]?.string
            context = context ?? current["errContext"]?.string
            unknownRelays += (current["unknownServers"]?.elements ?? []).compactMap(\.string)
            blockingReason = blockingReason ?? current["blockInfo"]?["reason"]?.type
            value = Self.inner.lazy.compactMap { current[$0] }.first
        }
    }
}
