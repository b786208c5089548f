import Base
import ChatCore
import CommandLineKit
import Desktop
import FileSystem
import Fuse
import Glibc
import Posix

/// The common part of the commands about the cache: finds the mount and its entries, and sends requests to its daemon.
enum CacheClient {
    static let paths = Argument(
        "PATH", .file, count: .oneOrMore, "Files on a mount; a folder stands for all files in it.")

    /// Connects to the daemon of a mount. Waits at most five seconds for its status.
    static func daemon(of mounted: Mounted) async throws -> ControlClient {
        let answer = await mounted.answer()
        if answer == .disconnected {
            throw DesktopError(
                .noAnswer,
                "The process of \(mounted.mountpoint) has died: 'chatfs unmount \(mounted.mountpoint)' removes the "
                    + "mount.")
        }
        if case .unasked(let error) = answer { throw error }
        guard case .status(let bytes) = answer, let status = MountStatus.decoded(bytes) else {
            throw DesktopError(.noAnswer, "The mount at \(mounted.mountpoint) does not answer.")
        }
        let client = try await ThreadPool.shared.run { () throws(DesktopError) in
            try ControlClient.connect(profileFolder: status.controlFolder)
        }
        guard let client else {
            throw DesktopError(.noAnswer, "The mount at \(mounted.mountpoint) is being unmounted.")
        }
        return client
    }

    /// Sends a request for each file of the paths, one after the other. Reports each failure with path and reason,
    /// continues, and counts the failures at the end.
    /// - Parameters:
    ///   - verb: Word before the progress, such as "Receiving".
    ///   - past: Word in the count of failures, such as "received".
    static func ask(_ action: CacheRequest.Action, _ paths: [String], verb: String, past: String) async throws
    {
        var entries: [MountedEntry] = []
        var failed = 0
        for path in paths {
            let found = await ThreadPool.shared.run { MountedEntry.all(at: path) }
            entries += found.entries
            failed += found.problems.count
            for problem in found.problems { Terminal.complain("chatfs: \(problem.sentence)") }
        }
        let count = entries.count + failed
        let display = ProgressDisplay(verb)
        var requests = CacheRequests(action)
        var done: UInt64 = 0
        // Sizes come from senders and may overflow.
        let total = entries.lazy.map(\.size).saturatingSum
        for entry in entries {
            let before = done
            do {
                try await requests.ask(entry) { share in
                    display.update(
                        done: before &+ min(entry.size / 100 * share, .max - before), total: total)
                }
            } catch {
                failed += 1
                display.finish()
                Terminal.complain("chatfs: \(PathError(entry.path, error).sentence)")
            }
            done.addSaturating(entry.size)
        }
        if failed == 0, action == .hydrate { display.update(done: total, total: total) }
        display.finish()
        guard failed > 0 else { return }
        if count > 1 { Terminal.complain("chatfs: \(failed) of \(count) could not be \(past).") }
        throw ExitCode.failure
    }
}

/// The connections of one command, made on first use.
private struct CacheRequests {
    private let action: CacheRequest.Action
    private var daemons: [Mounted: Result<ControlClient, any Error>] = [:]

    init(_ action: CacheRequest.Action) { self.action = action }

    /// Repeats the request for one entry until it is done.
    /// - Parameter progress: Receives the percentage until then.
    mutating func ask(_ entry: MountedEntry, progress: (UInt64) -> Void) async throws {
        let daemon = try await daemon(of: entry.mounted)
        let request = CacheRequest(action, entry: entry.number)
        while true {
            let answer: CacheAnswer
            do throws(DesktopError) {
                answer = try await ThreadPool.shared.run { () throws(DesktopError) in try daemon.ask(request)
                }
            } catch {
                // A broken connection is unusable; the next entry gets a new one.
                if error.code != .refused { daemons[entry.mounted] = nil }
                throw error
            }
            if answer.isDone { return }
            progress(UInt64(min(100, max(0, answer.progress))))
        }
    }

    /// Caches failures too, because each attempt waits for seconds.
    private mutating func daemon(of mounted: Mounted) async throws -> ControlClient {
        if let known = daemons[mounted] { return try known.get() }
        let result: Result<ControlClient, any Error>
        do {
            result = .success(try await CacheClient.daemon(of: mounted))
        } catch {
            result = .failure(error)
        }
        daemons[mounted] = result
        return try result.get()
    }
}
