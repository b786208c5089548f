import Base

/// The places of an uploaded file's chunks and the keys to decrypt it: the content of `rcv1.xftp`, of a file link and
/// of a chat's file message. Grants reading (party recipient) or deleting (party sender). Secret.
public struct FileDescription: Hashable, Sendable {
    public enum Party: String, Sendable {
        case recipient
        case sender
    }

    /// The expected size and digest of the description inside the described file.
    public struct Redirect: Hashable, Sendable {
        /// The size of the encrypted file in the inner description, in bytes.
        public var size: UInt64
        /// The SHA-512 of that encrypted file.
        public var digest: [UInt8]

        public init(size: UInt64, digest: [UInt8]) {
            self.size = size
            self.digest = digest
        }
    }

    /// A slice of the encrypted file, on one or more relays.
    public struct Chunk: Hashable, Sendable {
        /// The number, from 1, in the order of the file.
        public var number: Int
        /// The length in bytes, a multiple of 64 KiB.
        public var size: UInt32
        /// The SHA-256 of the encrypted chunk, 32 bytes.
        public var digest: [UInt8]
        public var replicas: [Replica]

        public init(number: Int, size: UInt32, digest: [UInt8], replicas: [Replica]) {
            self.number = number
            self.size = size
            self.digest = digest
            self.replicas = replicas
        }
    }

    public struct Replica: Hashable, Sendable {
        /// The relay, without its password.
        public var relay: RelayAddress
        /// The recipient ID or sender ID, depending on the party.
        public var id: [UInt8]
        /// An Ed25519 private key, PKCS#8.
        public var key: [UInt8]

        public init(relay: RelayAddress, id: [UInt8], key: [UInt8]) {
            self.relay = relay.withoutPassword
            self.id = id
            self.key = key
        }
    }

    public var party: Party
    /// The size of the encrypted, padded file in bytes: the sum of the chunks.
    public var size: UInt64
    /// The size of the first chunk in bytes.
    public var chunkSize: UInt32
    /// The SHA-512 of the encrypted file, 64 bytes.
    public var digest: [UInt8]
    /// 32 bytes.
    public var key: [UInt8]
    /// 24 bytes.
    public var nonce: [UInt8]
    public var redirect: Redirect?
    /// All chunks, in order.
    public var chunks: [Chunk]

    public init(
        party: Party, digest: [UInt8], key: [UInt8], nonce: [UInt8], redirect: Redirect? = nil,
        chunks: [Chunk]
    ) {
        self.party = party
        size = chunks.reduce(0) { $0 + UInt64($1.size) }
        chunkSize = chunks.first?.size ?? 0
        self.digest = digest
        self.key = key
        self.nonce = nonce
        self.redirect = redirect
        self.chunks = chunks
    }

    /// The relays with chunks, without duplicates, in the order of the chunks.
    public var relays: [RelayAddress] {
        var seen: Set<RelayAddress> = []
        return chunks.flatMap(\.replicas).map(\.relay).filter { seen.insert($0).inserted }
    }
}

extension FileDescription: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Hides the content, which is secret.
    public var description: String { "FileDescription(\(chunks.count) chunks, \(size) bytes)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
