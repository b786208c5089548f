import Base

/// Where the chunks of an uploaded file are and how to decrypt it: the content of `rcv1.xftp`, of a
/// file link, of a chat's file message. Whoever has it can read the file (party recipient) or delete
/// it (party sender): a secret.
public struct FileDescription: Hashable, Sendable {
    public enum Party: String, Sendable {
        case recipient
        case sender
    }

    /// The description that is found in the described file, and what it must say.
    public struct Redirect: Hashable, Sendable {
        /// Size in bytes of the encrypted file that the inner description describes.
        public var size: UInt64
        /// Its SHA-512.
        public var digest: [UInt8]

        public init(size: UInt64, digest: [UInt8]) {
            self.size = size
            self.digest = digest
        }
    }

    /// A slice of the encrypted file, on one relay or the same on several.
    public struct Chunk: Hashable, Sendable {
        /// From 1, in the order of the file.
        public var number: Int
        /// Bytes, a multiple of 64 KiB.
        public var size: UInt32
        /// SHA-256, 32 bytes.
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
        /// Without password.
        public var relay: RelayAddress
        /// Recipient ID or sender ID, after the party.
        public var id: [UInt8]
        /// Ed25519 private key, PKCS#8.
        public var key: [UInt8]

        public init(relay: RelayAddress, id: [UInt8], key: [UInt8]) {
            self.relay = relay.withoutPassword
            self.id = id
            self.key = key
        }
    }

    public var party: Party
    /// Size in bytes of the encrypted, padded file: the sum of the chunks.
    public var size: UInt64
    /// Size of the first chunk.
    public var chunkSize: UInt32
    /// SHA-512 of the encrypted file, 64 bytes.
    public var digest: [UInt8]
    /// 32 bytes.
    public var key: [UInt8]
    /// 24 bytes.
    public var nonce: [UInt8]
    public var redirect: Redirect?
    /// In order, complete.
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

    /// The relays that hold chunks, each once, in the order of the chunks.
    public var relays: [RelayAddress] {
        var seen: Set<RelayAddress> = []
        return chunks.flatMap(\.replicas).map(\.relay).filter { seen.insert($0).inserted }
    }

    /// Where each chunk begins in the encrypted file, and at the end the file's size.
    public var chunkOffsets: [UInt64] {
        var offsets: [UInt64] = [0]
        for chunk in chunks { offsets.append(offsets[offsets.count - 1] + UInt64(chunk.size)) }
        return offsets
    }

    /// Bytes of the largest chunk: what a `ChunkBuffer` must hold.
    public var largestChunk: Int { chunks.reduce(0) { max($0, Int($1.size)) } }
}

extension FileDescription: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Never the content.
    public var description: String { "FileDescription(\(chunks.count) chunks, \(size) bytes)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
