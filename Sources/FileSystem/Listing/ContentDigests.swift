import Base
import ChatCore
import Cryptography
import Hydration
import Namespace
import Posix

/// Computes SHA-256 of local files, so that programs can compare their files with those in chats. Each digest is
/// computed once, on request; nothing is fetched. Stateless; thread-safe.
struct ContentDigests: Sendable {
    let names: Namespace
    let contents: any ContentStore

    /// Maximum wait for a piece of a local file, whose stored copy may need verification first.
    private static let timeout = Duration.seconds(60)
    private static let pieceLength: UInt64 = 1 << 20

    /// Returns the known digests, and with `isComputing` those of all nodes whose files are local. Omits unreadable
    /// files.
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
        return file.isHere || contents.condition(of: file.id).stage == .complete
    }

    /// Returns nil if the file cannot be read.
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
