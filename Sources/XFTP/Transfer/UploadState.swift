import Base
import Cryptography

/// The state of an upload, sufficient to resume it after a restart or to delete its chunks. Contains keys. Secret.
public struct UploadState: Sendable, Codable {
    /// A chunk with a record on a relay.
    struct CreatedChunk: Sendable, Codable {
        /// The index in the file, from 0.
        var index: Int
        var relay: String
        var senderID: String
        var senderKey: String
        var recipientIDs: [String]
        var recipientKeys: [String]
        var digest: String
        /// Whether the bytes were uploaded too.
        var isUploaded: Bool
    }

    public let fileName: String
    /// The size of the plaintext in bytes.
    public let size: UInt64
    /// The number of recipient IDs of each chunk.
    public let recipients: Int
    let key: String
    let nonce: String
    private(set) var chunks: [CreatedChunk] = []

    /// Creates the state of a new upload with a new key.
    init(fileName: String, size: UInt64, recipients: Int, random: some RandomSource) {
        self.init(
            fileName: fileName, size: size, recipients: recipients,
            arguments: CryptoFile.freshArguments(random: random))
    }

    /// - Parameter arguments: The key of the stream.
    init(fileName: String, size: UInt64, recipients: Int, arguments: FileArguments) {
        self.fileName = fileName
        self.size = size
        self.recipients = recipients
        key = Base64URL.encode(arguments.key)
        nonce = Base64URL.encode(arguments.nonce)
    }

    var keyBytes: [UInt8] { Base64URL.decode(key) ?? [] }
    var nonceBytes: [UInt8] { Base64URL.decode(nonce) ?? [] }

    func isOf(fileName: String, size: UInt64, recipients: Int) -> Bool {
        self.fileName == fileName && self.size == size && self.recipients == recipients
            && keyBytes.count == 32 && nonceBytes.count == 24
    }

    func hasKey(of other: UploadState) -> Bool { key == other.key && nonce == other.nonce }

    func chunk(_ index: Int) -> CreatedChunk? { chunks.first { $0.index == index } }

    /// Replaces or adds the record of a chunk.
    mutating func put(_ chunk: CreatedChunk) {
        if let place = chunks.firstIndex(where: { $0.index == chunk.index }) {
            chunks[place] = chunk
        } else {
            chunks.append(chunk)
        }
    }
}

extension UploadState: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Hides the keys.
    public var description: String { "UploadState(\(chunks.count) chunks)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension UploadState.CreatedChunk {
    init(
        index: Int, relay: RelayAddress, created: CreatedChunkIDs, senderKey: SigningKey,
        recipientKeys: [SigningKey], digest: [UInt8]
    ) {
        self.index = index
        self.relay = relay.text
        senderID = Base64URL.encode(created.senderID)
        self.senderKey = Base64URL.encode(senderKey.pkcs8)
        recipientIDs = created.recipientIDs.map { Base64URL.encode($0) }
        self.recipientKeys = recipientKeys.map { Base64URL.encode($0.pkcs8) }
        self.digest = Base64URL.encode(digest)
        isUploaded = false
    }

    /// The sender's replica, or nil if the state is damaged.
    var senderReplica: FileDescription.Replica? {
        guard let relay = RelayAddress(relay), let id = Base64URL.decode(senderID), id.count <= 255,
            let key = Base64URL.decode(senderKey)
        else { return nil }
        return .init(relay: relay, id: id, key: key)
    }

    func recipientReplica(_ recipient: Int) -> FileDescription.Replica? {
        guard recipientIDs.indices.contains(recipient), recipientKeys.indices.contains(recipient),
            let relay = RelayAddress(relay), let id = Base64URL.decode(recipientIDs[recipient]),
            id.count <= 255,
            let key = Base64URL.decode(recipientKeys[recipient])
        else { return nil }
        return .init(relay: relay, id: id, key: key)
    }
}
