import Base
import Posix

/// Keeps the desktop's thumbnail cache in step with a mount. Requests run in order on a separate thread, so callers
/// never wait for the disk. After a write error, offering stops and the error is logged once.
public final class DesktopThumbnails: Sendable {
    /// Shared by the process, which has one mount.
    private static let pool = ThreadPool(name: "thumbnails", threads: 1)
    /// The number of files linked before other requests get a turn.
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

    /// Links the thumbnails of the entries in `numbers`.
    /// - Parameters:
    ///   - entry: Returns the entry of a number when it is linked, or nil if it is gone or has no thumbnail.
    ///   - done: Called once, after all entries were linked or linking stopped.
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
                tell("thumbnails no longer offered", error)
            }
            let rest = numbers.dropFirst(Self.atOnce)
            if rest.isEmpty { done() } else { offer(rest, entry: entry, done: done) }
        }
    }

    /// Deletes links and thumbnails of files that were deleted or renamed.
    public func withdraw(_ paths: [[UInt8]]) {
        Self.pool.submit { [self] in
            do throws(SystemError) { try folder.withdraw(paths) } catch {
                tell("thumbnail of a deleted file not removed", error)
            }
        }
    }

    /// Deletes thumbnailers' failure marks for these files.
    public func removeFailures(_ paths: [[UInt8]]) {
        Self.pool.submit { [self] in
            do throws(SystemError) { try folder.removeFailures(paths) } catch {
                tell("thumbnail failure mark not removed", error)
            }
        }
    }

    /// Stops offering from the next batch on.
    public func stopOffering() { state.withLock { $0.isOffering = false } }

    /// Deletes all links and thumbnails of some mounts (`ThumbnailFolder.sweep`).
    /// - Parameters:
    ///   - traces: Receives the mountpoints with links in the cache and returns the traces to sweep.
    ///   - paths: Calls its argument with each known path. Runs on this object's thread and may block, like `traces`.
    ///   - done: Called on that thread after the sweep.
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
                tell("thumbnails of a mount not swept", error)
            }
        }
    }

    /// Returns after all previous requests are done.
    public func finish() async { await Self.pool.run {} }

    private func tell(_ event: String, _ error: any Error) {
        let isFirst = state.withLock { state in
            defer { state.wasFailureTold = true }
            return !state.wasFailureTold
        }
        if isFirst { log.warning("\(event): error=\(sentenceWithCauses(of: error))") }
    }
}
