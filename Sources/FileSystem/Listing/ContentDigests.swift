import Base
import ChatCore
import Cryptography
import Hydration
import Namespace
import Posix

/// SHA-256 of files that are here, for programs that compare what they have with what is in a chat. Computed when
/// somebody asks, once for each file; nothing is ever fetched for it. Has no state of its own. Any thread.
final class ContentDigests: Sendable {
    private let names: Namespace
    private let contents: any ContentStore

    /// Longest wait for a piece of a file that is here: its stored copy may have to be verified first.
    private static let timeout = Duration.seconds(60)
    private static let pieceLength: UInt64 = 1 << 20

    init(names: Namespace, contents: any ContentStore) {
        self.names = names
        self.contents = contents
    }

    /// Those that are known, and with `isComputing` those of all nodes whose file is here. What cannot be read is left
    /// out.
    func digests(of nodes: [Node], isComputing: Bool) async throws(FileSystemError) -> [NodeID: [UInt8]] {
        do {
            var known = try await ThreadPool.shared.run { [names] in try names.digests(of: nodes.map(\.id)) }
            guard isComputing else { return known }
            for node in nodes where known[node.id] == nil {
                guard case .item(let item) = node.content, isHere(item), let digest = await digest(of: item)
                else { continue }
                known[node.id] = digest
                try await ThreadPool.shared.run { [names] in try names.set(digest: digest, of: item.id) }
            }
            return known
        } catch {
            throw FileSystemError(error)
        }
    }

    private func isHere(_ item: ChatItem) -> Bool {
        guard let file = item.file else { return false }
        return file.status.isReadable || contents.condition(of: file.id).stage == .complete
    }

    /// Nil when it could not be read after all.
    private func digest(of item: ChatItem) async -> [UInt8]? {
        let size = item.file?.size ?? 0
        let content = contents.content(of: item)
        defer { content.close() }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(Self.pieceLength), alignment: 4096)
        defer { memory.deallocate() }
        var digest = SHA256()
        var position: UInt64 = 0
        while position < size {
            let range = position..<min(size, position + Self.pieceLength)
            let piece = ReadBuffer(UnsafeMutableRawBufferPointer(rebasing: memory[..<range.count]))
            guard case .filled(range.count) = await content.read(range, into: piece, timeout: Self.timeout)
            else { return nil }
            digest = await ThreadPool.shared.run { [digest] in
                var next = digest
                next.update(UnsafeRawBufferPointer(piece.bytes))
                return next
            }
            position = range.upperBound
        }
        return digest.finalize()
    }
}
