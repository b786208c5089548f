import ChatCore
import JSON

/// An error of the official core (`ChatError` of the chat API): the names of its alternatives from the
/// outside in, and the fields that ChatFS uses.
///
/// `{"type":"errorAgent","agentError":{"type":"XFTP","xftpErr":{"type":"AUTH"}}}` is `["errorAgent", "XFTP",
/// "AUTH"]`. `APIError+Meaning.swift` has the meanings.
public struct APIError: Hashable, Sendable {
    public var path: [String]
    /// The core's text. May contain file names; log it at debug level only.
    public var message: String?
    /// Relays that are not configured (`fileNotApproved`).
    public var unknownRelays: [String] = []
    /// The file that the core does not receive for that reason.
    public var refusedFile: FileID?
    /// Reason of a relay's block: `spam`, `content`, …
    public var blockingReason: String?
    /// The agent's operation, in its words. Log it at debug level only.
    public var context: String?

    /// Returns true if an alternative has this name.
    public func has(_ name: String) -> Bool { path.contains(name) }

    /// Members with a more exact error than their object, in search order.
    private static let inner: [StaticString] = [
        "errorType", "agentError", "storeError", "databaseError", "sqliteError", "xftpErr", "fileErr",
        "smpErr", "brokerErr",
        "cmdErr", "srvError", "fileError", "sndFileError", "rcvFileError", "chatError", "internalErr",
    ]
}

extension APIError {
    init(_ json: JSONValue) {
        self.init(path: [])
        var value: JSONValue? = json
        // Errors nest at most four deep; the document may nest deeper.
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
