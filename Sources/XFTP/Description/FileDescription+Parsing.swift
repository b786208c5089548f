import Base
import Posix

extension FileDescription {
    /// More than ten times the need of a file of 1 GiB on all twelve preset relays: 256 chunks of 4 MiB with twelve
    /// replicas each, 0.4 MB of text (limited by `YAMLParser.longestText`).
    static let maxChunks = 16_384
    static let maxReplicasOfChunk = 128
    static let maxRelays = 256
    /// In bytes. Official sizes end at 4 MiB, but relays can be configured for larger ones.
    static let maxChunkSize: UInt64 = 16 << 20
    static let smallestChunkSize: UInt64 = 65_536
    /// The PKCS#8 prefix of an Ed25519 key (RFC 8410).
    private static let keyPrefix: [UInt8] = [
        0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
    ]

    /// Parses and checks a description: key and digest lengths, consecutive chunk numbers from 1, the sum of the sizes,
    /// and at least one replica per chunk. No replica may belong to two chunks. Key order, unknown keys, flow style,
    /// line ends and missing base64 padding do not matter.
    ///
    /// Takes about 10 ms for the longest text (4 MiB), so do not call it in a database transaction. Tasks call `parse`.
    /// - Throws: `.malformedDescription`.
    public init(parsing text: String) throws(XFTPError) {
        let root: YAMLValue
        do {
            root = try YAMLParser.parse(text)
        } catch {
            throw Self.malformed("line \(error.line) \(error.reason)", cause: error)
        }
        guard case .mapping = root else { throw Self.malformed("it is no list of keys and values") }
        guard let party = root["party"]?.text.flatMap(Party.init) else {
            throw Self.malformed("the party is missing or unknown")
        }
        let chunkSize = try Self.size(root["chunkSize"], of: "the chunk size")
        guard Self.isChunkSize(chunkSize) else { throw Self.malformed("the chunk size is impossible") }
        let chunks = try Self.chunks(root["replicas"], defaultSize: UInt32(chunkSize))
        self.init(
            party: party,
            digest: try Self.bytes(root["digest"], count: 64, of: "the digest"),
            key: try Self.bytes(root["key"], count: 32, of: "the key"),
            nonce: try Self.bytes(root["nonce"], count: 24, of: "the nonce"),
            redirect: try Self.redirect(root["redirect"]),
            chunks: chunks)
        let written = try Self.size(root["size"], of: "the size")
        guard written == size else { throw Self.malformed("the chunks do not add up to the size") }
        guard redirect == nil || chunks.count == 1 else {
            throw Self.malformed("it redirects and has more than one chunk")
        }
        self.chunkSize = UInt32(chunkSize)
    }

    /// Parses a description on a pool thread.
    /// - Throws: `.malformedDescription`.
    public static func parse(_ text: String) async throws(XFTPError) -> FileDescription {
        try await ThreadPool.shared.run { () throws(XFTPError) in try FileDescription(parsing: text) }
    }

    private static func malformed(_ reason: String, cause: (any Error)? = nil) -> XFTPError {
        XFTPError(.malformedDescription, "The file description is invalid: \(reason).", cause: cause)
    }

    private static func isChunkSize(_ size: UInt64) -> Bool {
        (smallestChunkSize...maxChunkSize).contains(size) && size % smallestChunkSize == 0
    }

    private static func size(_ value: YAMLValue?, of subject: String) throws(XFTPError) -> UInt64 {
        guard let size = value?.text.flatMap({ ByteCount.parse($0) }) else {
            throw malformed("\(subject) is missing or no size")
        }
        return size
    }

    private static func bytes(
        _ value: YAMLValue?, count: Int, of subject: String
    ) throws(XFTPError) -> [UInt8] {
        guard let bytes = value?.text.flatMap({ Base64URL.decode($0) }), bytes.count == count else {
            throw malformed("\(subject) is missing or has the wrong length")
        }
        return bytes
    }

    private static func redirect(_ value: YAMLValue?) throws(XFTPError) -> Redirect? {
        switch value {
        case nil, .nothing?: return nil
        case .scalar(let text, isPlain: true)? where ["null", "~", ""].contains(text): return nil
        case let value?:
            guard let size = value["size"]?.number else {
                throw malformed("the size of the redirect is missing or no number")
            }
            let digest = try bytes(value["digest"], count: 64, of: "the digest of the redirect")
            return Redirect(size: size, digest: digest)
        }
    }

    /// A chunk while the relays are being parsed.
    private struct PartialChunk {
        /// The replicas, in the order of the text.
        var replicas: [Replica] = []
        /// The index of the replica with the digest. It becomes the first one.
        var first: Int?
        var digest: [UInt8] = []
        var size: UInt64?

        func complete(number: Int, defaultSize: UInt32) -> Chunk? {
            guard let first else { return nil }
            let ordered = [replicas[first]] + replicas[..<first] + replicas[(first + 1)...]
            return Chunk(
                number: number, size: size.map { UInt32($0) } ?? defaultSize, digest: digest,
                replicas: ordered)
        }
    }

    private static func chunks(_ value: YAMLValue?, defaultSize: UInt32) throws(XFTPError) -> [Chunk] {
        guard let groups = value?.items else { throw malformed("the replicas are missing") }
        var partial: [Int: PartialChunk] = [:]
        // The chunk number of each ID on a relay. Otherwise one upload under many numbers could pose as a large file.
        var numbers: [RelayAddress: [[UInt8]: Int]] = [:]
        for group in groups {
            guard let relay = group["server"]?.text.flatMap({ RelayAddress($0) }), relay.password == nil
            else { throw malformed("a relay's address is missing or wrong") }
            // Remove the entry before changing it, which avoids a copy for each group of the relay.
            var known = numbers.removeValue(forKey: relay) ?? [:]
            guard numbers.count < maxRelays else {
                throw malformed("it names more than \(maxRelays) relays")
            }
            guard let texts = group["chunks"]?.items else { throw malformed("a relay has no chunks") }
            for text in texts {
                let entry = try ChunkEntry(text.text)
                guard known.updateValue(entry.number, forKey: entry.id) ?? entry.number == entry.number else {
                    throw malformed("chunk \(entry.number) is another chunk too")
                }
                // Change in place: a copy for each replica would take quadratic time.
                try entry.add(to: &partial[entry.number, default: PartialChunk()], on: relay)
            }
            numbers[relay] = known
        }
        guard !partial.isEmpty else { throw malformed("it has no chunks") }
        var chunks: [Chunk] = []
        chunks.reserveCapacity(partial.count)
        for number in 1...partial.count {
            guard let known = partial[number] else { throw malformed("chunk \(number) is missing") }
            guard let chunk = known.complete(number: number, defaultSize: defaultSize) else {
                throw malformed("chunk \(number) has no digest")
            }
            chunks.append(chunk)
        }
        return chunks
    }

    /// One text of a relay's list: `number:id:key[:digest[:size]]`.
    private struct ChunkEntry {
        let number: Int
        let id: [UInt8]
        let key: [UInt8]
        let digest: [UInt8]?
        let size: UInt64?

        init(_ text: String?) throws(XFTPError) {
            // Split bytes instead of characters for speed: the first read of a file waits for this.
            let fields = Array((text ?? "").utf8).split(
                separator: UInt8(ascii: ":"), maxSplits: 5, omittingEmptySubsequences: false)
            guard (3...5).contains(fields.count), fields[0].allSatisfy({ (48...57).contains($0) }),
                let number = Int(String(decoding: fields[0], as: UTF8.self)),
                (1...maxChunks).contains(number)
            else { throw malformed("a chunk is not written as number, ID, key, digest, size") }
            guard let id = Base64URL.decode(fields[1]), (1...255).contains(id.count) else {
                throw malformed("the ID of chunk \(number) is wrong")
            }
            guard let key = Base64URL.decode(fields[2]), key.count == 48, key.starts(with: keyPrefix) else {
                throw malformed("the key of chunk \(number) is wrong")
            }
            (self.number, self.id, self.key) = (number, id, key)
            if fields.count > 3 {
                guard let digest = Base64URL.decode(fields[3]), digest.count == 32 else {
                    throw malformed("the digest of chunk \(number) is wrong or given in two ways")
                }
                self.digest = digest
            } else {
                digest = nil
            }
            if fields.count > 4 {
                guard let size = ByteCount.parse(String(decoding: fields[4], as: UTF8.self)),
                    isChunkSize(size)
                else { throw malformed("the size of chunk \(number) is impossible or given in two ways") }
                self.size = size
            } else {
                size = nil
            }
        }

        func add(to chunk: inout PartialChunk, on relay: RelayAddress) throws(XFTPError) {
            guard chunk.replicas.count < maxReplicasOfChunk else {
                throw malformed("chunk \(number) has more than \(maxReplicasOfChunk) replicas")
            }
            if let digest {
                guard chunk.first == nil || chunk.digest == digest else {
                    throw malformed("the digest of chunk \(number) is wrong or given in two ways")
                }
                if chunk.first == nil { chunk.first = chunk.replicas.count }
                chunk.digest = digest
            }
            if let size {
                guard chunk.size ?? size == size else {
                    throw malformed("the size of chunk \(number) is impossible or given in two ways")
                }
                chunk.size = size
            }
            chunk.replicas.append(Replica(relay: relay, id: id, key: key))
        }
    }
}
