import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// Completion of a download: hands the file to the core, and refetches chunks that the disk lost.
struct FileCompletion: Sendable {
    private let file: CachedFile
    private let download: Download
    private let context: HydrationContext

    init(of file: CachedFile, _ download: Download) {
        self.file = file
        self.download = download
        context = file.context
    }

    /// Records that a chunk or the file could not be stored.
    func fail(_ error: any Error, remains: String? = nil) {
        let size = file.withMachine(\.file.size)
        let problem = context.failures.problem(error, of: file.id, missing: size, remains: remains)
        file.step { $0.completionFailed(download, problem, now: $1) }
    }

    /// Hands the CryptoFile to the core after all chunks were stored, and reads from there.
    func run() async {
        let (offset, size) = file.withMachine { machine in
            (machine.phase.chunks(of: download)?.contentOffset, machine.file.size)
        }
        guard let offset else { return }
        let path =
            context.core.stagingFolder + "/" + PartialFileFolder.handedOver
            + Hexadecimal.encode(SystemRandomSource().bytes(16))
        do {
            let copy = try await ChunkStore.copyThreads.run { () throws(any Error) in
                try download.store.makeCopy(at: path, content: offset..<offset + size)
            }
            guard let copy else {
                // The core makes the durable copy itself.
                return file.step { machine, _ in machine.verified(download) }
            }
            let location = try await context.core.completeClaim(
                file.id, staged: FileSourceLocation(path: path, arguments: copy.arguments))
            try await onPool {
                download.store.handOver()
                guard let tags = copy.tags else { return }
                let stored = try OpenFile(location.path, flags: O_RDONLY)
                context.verified.keep(tags, of: file.id, copy.arguments, try stored.status())
            }
            let whole = try await context.openStored(location, size: size, for: file) {
                file.progressed(download, 0)
            }
            file.step { machine, _ in machine.completed(download, whole, at: location, cached: whole.cached) }
            context.registry.closeUnused()
        } catch let damage as DamagedChunks {
            fetchAgain(damage.chunks, endsCompletion: true)
        } catch {
            unlink(path)
            fail(error, remains: download.remains)
        }
    }

    /// Downloads chunks again that the disk lost. Fails the hand-over if the disk loses chunks repeatedly.
    func fetchAgain(_ chunks: [Int], endsCompletion: Bool = false) {
        context.failures.log.warning(
            "disk lost written data, fetching again: chunks=\(chunks.count)")
        do throws(HydrationError) {
            try download.store.lost(chunks)
            file.step { machine, _ in machine.damaged(download, chunks, endsCompletion: endsCompletion) }
        } catch {
            let problem = FileProblem(error)
            file.step { $0.completionFailed(download, problem, now: $1) }
        }
    }
}
