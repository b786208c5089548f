import Base
import Posix

/// Keeps the desktop's thumbnail cache in step with a mount: one thing after the other, in the order in which they are
/// asked for, on a thread of its own, so nobody waits for that disk. Where it cannot be written nothing more is
/// offered, and the log says so once.
public final class DesktopThumbnails: Sendable {
    /// One for the process, which has one mount.
    private static let pool = ThreadPool(name: "thumbnails", threads: 1)
    /// So many files are linked in one go, before what was asked for meanwhile is.
    private static let atOnce = 128

    private struct State {
        var isOffering = true
        var wasFailureTold = false
    }

    private let folder: ThumbnailFolder
    private let state = Lock(State())
    private let log = Log("thumbnails")

    public init(_ folder: ThumbnailFolder) { self.folder = folder }

    public var mountpoint: String { folder.mountpoint }

    /// Links what the entries of `numbers` are when they are linked.
    /// - Parameters:
    ///   - entry: nil when there is none of this number any more, or nothing to be offered of it.
    ///   - done: called once, when all is linked, or nothing can be.
    public func offer(
        _ numbers: ArraySlice<UInt64>, entry: @escaping @Sendable (UInt64) -> ThumbnailFolder.Entry?,
        done: @escaping @Sendable () -> Void = {}
    ) {
        Self.pool.submit { [self] in
            guard state.withLock({ $0.isOffering }) else { return done() }
            do throws(SystemError) {
                try folder.offer(numbers.prefix(Self.atOnce).compactMap(entry))
            } catch {
                state.withLock { $0.isOffering = false }
                tell("no more previews are offered to the desktop", error)
            }
            let rest = numbers.dropFirst(Self.atOnce)
            if rest.isEmpty { done() } else { offer(rest, entry: entry, done: done) }
        }
    }

    /// Takes away what there is of files that are gone or have another name.
    public func withdraw(_ paths: [[UInt8]]) {
        Self.pool.submit { [self] in
            do throws(SystemError) { try folder.withdraw(paths) } catch {
                tell("the thumbnail of a file that is gone stays in the thumbnail cache", error)
            }
        }
    }

    /// Takes away the marks that thumbnailers failed with these files.
    public func removeFailures(_ paths: [[UInt8]]) {
        Self.pool.submit { [self] in
            do throws(SystemError) { try folder.removeFailures(paths) } catch {
                tell("a mark that there is no thumbnail of a file stays in the thumbnail cache", error)
            }
        }
    }

    /// Nothing more is offered, from the next batch on.
    public func stopOffering() { state.withLock { $0.isOffering = false } }

    /// Takes away all that is of some mounts (`ThumbnailFolder.sweep`).
    /// - Parameters:
    ///   - traces: is called with the places of mounts of which links are here.
    ///   - paths: is called with what takes them. Both are called on the thread of this, and may block.
    ///   - done: is called there when all of it is gone.
    public func sweep(
        _ traces: @escaping @Sendable (_ offered: [String]) throws -> [ThumbnailFolder.Traces],
        paths: @escaping @Sendable ((_ path: [UInt8]) -> Void) -> Void,
        done: @escaping @Sendable () throws -> Void
    ) {
        Self.pool.submit { [self] in
            do {
                try folder.sweep(traces(folder.mountpoints()), paths: paths)
                try done()
            } catch {
                tell("what the desktop kept of a mount is left for the next one to sweep", error)
            }
        }
    }

    /// Returns when all that was asked for until now is done.
    public func finish() async { await Self.pool.run {} }

    private func tell(_ what: String, _ error: any Error) {
        let isFirst = state.withLock { state in
            defer { state.wasFailureTold = true }
            return !state.wasFailureTold
        }
        if isFirst { log.warning("\(what): \(sentenceWithCauses(of: error))") }
    }
}
