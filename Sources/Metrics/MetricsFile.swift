import Base
import Glibc
import Posix
import Synchronization

/// Writes metrics to a file in the OpenMetrics text form: at intervals, and once more at the end. Readers see a
/// complete file of mode 0600. The file stays. Thread-safe.
public final class MetricsFile: Sendable {
    private let path: String
    private let interval: Duration
    private let collect: @Sendable () async -> [MetricFamily]
    private let tasks = TaskSet()
    /// The last attempt failed and is in the log.
    private let hasFailed = Atomic(false)

    /// - Parameters:
    ///   - path: Absolute. Its folder exists.
    ///   - interval: Time between two writes.
    ///   - collect: Returns the metrics of the moment.
    public init(
        _ path: String, every interval: Duration = .seconds(10),
        collect: @escaping @Sendable () async -> [MetricFamily]
    ) {
        self.path = path
        self.interval = interval
        self.collect = collect
    }

    /// Writes the metrics of the moment.
    /// - Throws: As open(2), write(2) and rename(2). The file then has its previous content.
    public func write() async throws(SystemError) {
        let text = OpenMetricsText.of(await collect())
        try await ThreadPool.shared.run { [path] () throws(SystemError) in
            try Self.replace(path, with: Array(text.utf8))
        }
    }

    /// Writes at every interval until `stop`. Logs the first of several failures. Called once.
    public func begin() {
        tasks.spawn { [self] in
            // Cancelled by `stop`.
            while (try? await Task.sleep(for: interval)) != nil { await writeOrLog() }
        }
    }

    /// Writes the last values, and nothing afterwards.
    public func stop() async {
        await tasks.close()
        await writeOrLog()
    }

    private func writeOrLog() async {
        do throws(SystemError) {
            try await write()
            hasFailed.store(false, ordering: .releasing)
        } catch {
            let isFirst = !hasFailed.exchange(true, ordering: .acquiringAndReleasing)
            if isFirst { Log("metrics").warning("metrics not written, retrying: error=\(error.sentence)") }
        }
    }

    /// Replaces a file atomically, but not durably: metrics are not worth an fsync(2) every few seconds.
    private static func replace(_ path: String, with bytes: [UInt8]) throws(SystemError) {
        let folder = try OpenFile(path.parentPath, flags: O_RDONLY | O_DIRECTORY)
        let name = path.lastPathName ?? path
        let temporary = ".\(name).\(getpid())"
        // Of an earlier process with this number.
        unlinkat(folder.descriptor, temporary, 0)
        let file = try OpenFile(temporary, flags: O_WRONLY | O_CREAT | O_EXCL, in: folder)
        do throws(SystemError) {
            try file.write(bytes, at: 0)
            try check("replace the metrics file") {
                renameat(folder.descriptor, temporary, folder.descriptor, name)
            }
        } catch {
            unlinkat(folder.descriptor, temporary, 0)
            throw error
        }
    }
}
