import Base
import ChatCore
import Posix

/// The archive of SimpleX itself: both databases and the files of the files folder, in one ZIP that its other programs
/// read. The core writes and reads it while it is stopped.
public struct CoreArchive: Sendable {
    private let transport: any OfficialTransport
    private let settings: OfficialCoreSettings
    private let lock: ProcessLock

    /// Larger databases take their time.
    private static let timeout = Duration.seconds(3600)

    /// Keeps the core to this process, and stops it. One that was running goes on at `close`.
    ///
    /// - Throws: `.profileInUse` naming the mount that has it; what the core refuses.
    public static func open(
        _ transport: any OfficialTransport, _ settings: OfficialCoreSettings
    ) async throws(ChatError) -> CoreArchive {
        let lock = try await blocking.run { try settings.takeFolder() }
        do throws(ChatError) {
            var events = transport.events().makeAsyncIterator()
            _ = try await Session.firstConnection(&events, timeout: settings.connectTimeout)
            do throws(OfficialCoreError) {
                try await Session.setUp(transport, settings)
            } catch {
                throw error.chatError
            }
            do throws(OfficialCoreError) {
                _ = try await transport.request(.stop)
            } catch {
                // It may rest all the same.
                if error.leavesDoubt { await letGoOn(transport, settings) }
                throw Self.meaning(of: error)
            }
        } catch {
            lock.release()
            throw error
        }
        return CoreArchive(transport: transport, settings: settings, lock: lock)
    }

    /// - Parameters:
    ///   - path: absolute, where the core may write, and nothing is.
    ///   - temporary: where it puts everything together, in clear where the databases are: as large as the archive.
    /// - Throws: `.file(.unreachable)`, `.file(.timedOut)`; `.invalidCommand` for a path that no command can have; what
    ///   the core refuses; `.internalError` when it answers something else, and for a task that was cancelled.
    public func write(to path: String, temporary: String) async throws(ChatError) -> [APIArchiveProblem] {
        let response = try await ask(.exportArchive(path: path, temporary: temporary))
        guard case .archiveExported(let problems) = response else { throw Self.notUnderstood }
        return problems
    }

    /// Puts the databases and files of an archive in place of the core's own, which must be new. It is to be closed
    /// afterwards: the core knows only at its next start what it has.
    /// - Throws: as `write`.
    public func read(from path: String, temporary: String) async throws(ChatError) -> [APIArchiveProblem] {
        let response = try await ask(.importArchive(path: path, temporary: temporary))
        guard case .archiveImported(let problems) = response else { throw Self.notUnderstood }
        return problems
    }

    /// Lets a core of somebody else go on, and ends one of our own.
    public func close() async {
        await Self.letGoOn(transport, settings)
        // In a task of its own: who was cancelled leaves nothing as it is either.
        await Task { [transport] in await transport.close() }.value
        lock.release()
    }

    /// Has a core of somebody else start its chats again, also for a task that was cancelled.
    private static func letGoOn(_ transport: any OfficialTransport, _ settings: OfficialCoreSettings) async {
        guard settings.ownership == .attached else { return }
        await Task {
            let end = ContinuousClock.now + settings.connectTimeout
            while true {
                do throws(OfficialCoreError) {
                    _ = try await transport.request(.start)
                    return
                } catch {
                    // The connection is made again by itself.
                    let mayComeBack = error.code == .disconnected || error.code == .broken
                    guard mayComeBack, ContinuousClock.now < end else {
                        return log.warning(
                            "the SimpleX program could not be told to go on: \(error.sentence)")
                    }
                    try? await Task.sleep(for: .milliseconds(100))
                }
            }
        }.value
    }

    private func ask(_ command: APICommand) async throws(ChatError) -> APIResponse {
        do throws(OfficialCoreError) {
            return try await transport.request(command, timeout: Self.timeout)
        } catch {
            throw Self.meaning(of: error)
        }
    }

    /// Some builds of the program end when they are told to stop their chats, before or after they answer.
    private static func meaning(of error: OfficialCoreError) -> ChatError {
        guard error.code == .broken || error.code == .disconnected else { return error.chatError }
        return ChatError(
            .file(.unreachable),
            "The SimpleX program broke off the connection when it was to rest for the archive; some builds end then. "
                + "No archive was written or read. End the program if it still runs, and have it started: "
                + "--core simplex-chat:/path/of/the/program --database PREFIX.", cause: error)
    }

    private static let notUnderstood = ChatError(
        .internalError, "The SimpleX core did not say what became of the archive.")
}
