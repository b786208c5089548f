import Base
import Cryptography

@testable import XFTP

extension Target {
    static let descriptions = [
        Target("description", "file descriptions", longest: 4096) { bytes in
            guard let description = try? FileDescription(parsing: bytes.text) else { return }
            check(description)
        },
        Target("link", "file links and web links", longest: 2048) { bytes in
            let text = bytes.text
            if let unpacked = try? Inflate.decode(bytes, limit: 1 << 16) {
                hold(unpacked.count <= 1 << 16, "nothing beyond the limit is made")
            }
            hold(PercentEncoding.decode(PercentEncoding.encode(text)) == text, "percent-coding loses nothing")
            guard let link = try? FileLink(parsing: text) else { return }
            guard let again = try? FileLink(parsing: link.text) else {
                return hold(false, "a printed link is read")
            }
            hold(again.text == link.text && again.data == link.data, "a printed link is the same")
            check(link.fileDescription)
        },
        Target("yaml", "the YAML of descriptions", longest: 1024) { bytes in
            let text = bytes.text
            let value = Result { () throws(YAMLParser.Failure) in try YAMLParser.parse(text) }
            if case .success(let value) = value {
                hold(depth(of: value) <= YAMLParser.deepestNesting, "the nesting is bounded")
            }
            guard !text.utf8.contains(UInt8(ascii: "\r")) else { return }
            let lines = text.utf8.flatMap { $0 == UInt8(ascii: "\n") ? [13, 10] : [$0] }
            let other = Result { () throws(YAMLParser.Failure) in try YAMLParser.parse(lines.text) }
            hold(value == other, "kinds of line ends do not matter")
        },
        Target("relay-address", "addresses of relays", longest: 512) { bytes in
            guard let address = RelayAddress(bytes.text) else { return }
            hold(!address.hosts.isEmpty && address.hosts.count <= 8, "an address has one to eight hosts")
            let again = RelayAddress(address.textWithPassword)
            hold(again == address && again?.password == address.password, "a printed address is the same")
            hold(RelayAddress(address.text)?.password == nil, "the usual text has no password")
            hold(
                again?.leadsIntoOwnNetwork == address.leadsIntoOwnNetwork,
                "what leads inside does so when printed")
            hold(!RelayAddress.precedes(address, address), "the order is strict")
        },
        Target("file-header", "headers in front of files", longest: 640) { bytes in
            var input = Input(bytes)
            let size = UInt64(bitPattern: input.integer())
            let prefix = input.rest()
            guard let header = FileHeader(stream: prefix, streamSize: size) else { return }
            hold(
                header.contentOffset <= UInt64(FileHeader.maxLength)
                    && header.contentOffset + header.contentSize <= size - 16, "the content lies inside")
            let again = FileHeader(
                stream: FileHeader.encode(name: header.name, contentSize: header.contentSize),
                streamSize: .max)
            hold(again?.contentSize == header.contentSize, "a written header says the same size")
            let isCut = header.name.utf8.count > 255 && header.name.unicodeScalars.count > 255
            hold(isCut || again?.name == header.name, "a written header says the same name")
        },
    ]

    private static func check(_ description: FileDescription) {
        hold(
            description.chunks.count <= FileDescription.maxChunks
                && description.relays.count <= FileDescription.maxRelays, "the limits hold")
        hold(ChunkLayout(description.places)?.streamSize == description.size, "the chunks add up")
        for (index, chunk) in description.chunks.enumerated() {
            hold(chunk.number == index + 1 && !chunk.replicas.isEmpty, "chunks are in order and somewhere")
            hold(chunk.size <= FileDescription.maxChunkSize, "a chunk fits into memory")
            for replica in chunk.replicas {
                hold(replica.relay.password == nil, "no password is in a description")
                hold(SigningKey(pkcs8: replica.key) != nil, "every key is one")
            }
        }
        guard let again = try? FileDescription(parsing: description.text) else {
            return hold(false, "a printed description is read")
        }
        hold(again.text == description.text, "a printed description is the same")
        hold(again.chunks.map(\.digest) == description.chunks.map(\.digest), "its digests are the same")
        hold(again.redirect == description.redirect && again.key == description.key, "it leads to the same")
    }

    private static func depth(of value: YAMLValue) -> Int {
        switch value {
        case .scalar, .nothing: 0
        case .sequence(let items): 1 + (items.map(depth).max() ?? 0)
        case .mapping(let entries): 1 + (entries.map { depth(of: $0.value) }.max() ?? 0)
        }
    }
}
