import Base
import ChatCore
import Posix

/// SimpleX's own archive: both databases and the files of the files folder in one ZIP, readable by other
/// SimpleX programs. The core reads and writes it while it is stopped.
public struct CoreArchive: Sendable {
    private let transport: any OfficialTransport
    private let settings: OfficialCoreSettings
    private let lock: ProcessLock

    /// Large databases take long.
    private static let timeout = Duration.seconds(3600)

    /// Takes exclusive use of the core and stops it. `close` restarts a core that was running.
    ///
    /// - Throws: `.profileInUse` with the mount that uses it; errors of the core.
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
                // It may have stopped anyway.
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
    ///   - path: Absolute path, writable by the core, that does not exist yet.
    ///   - temporary: Folder for the unencrypted parts of an unencrypted database; needs as much space as the archive.
    /// - Throws: `.file(.unreachable)`, `.file(.timedOut)`; `.invalidCommand` for a path that no command can
    ///   contain; errors of the core; `.internalError` for an unexpected answer and for a cancelled task.
    public func write(to path: String, temporary: String) async throws(ChatError) -> [APIArchiveProblem] {
        let response = try await ask(.exportArchive(path: path, temporary: temporary))
        guard case .archiveExported(let problems) = response else { throw Self.notUnderstood }
        return problems
    }

    /// Replaces the core's databases and files by an archive's. The core must be new, and must be closed
    /// afterwards, because it reads the databases only at its start.
    /// - Throws: As `write`.
    public func read(from path: String, temporary: String) async throws(ChatError) -> [APIArchiveProblem] {
        let response = try await ask(.importArchive(path: path, temporary: temporary))
        guard case .archiveImported(let problems) = response else { throw Self.notUnderstood }
        return problems
    }

    /// Restarts a core of another program, or ends one that ChatFS runs.
    public func close() async {
        await Self.letGoOn(transport, settings)
        // In its own task, so that cancellation does not prevent the cleanup.
        await Task { [transport] in await transport.close() }.value
        lock.release()
    }

    /// Restarts the chats in a core of another program, even if the task was cancelled.
    private static func letGoOn(_ transport: any OfficialTransport, _ settings: OfficialCoreSettings) async {
        guard settings.ownership == .attached else { return }
        await Task {
            let end = ContinuousClock.now + settings.connectTimeout
            while true {
                do throws(OfficialCoreError) {
                    _ = try await transport.request(.start)
                    return
                } catch {
                    // The transport reconnects by itself.
                    let mayComeBack = error.code == .disconnected || error.code == .broken
                    guard mayComeBack, ContinuousClock.now < end else {
                        return log.warning(
                            "core program not restarted: error=\(error.sentence)")
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

    /// Some builds of the program exit when they stop the chats, before or after their answer.
    private static func meaning(of error: OfficialCoreError) -> ChatError {
        guard error.code == .broken || error.code == .disconnected else { return error.chatError }
        return ChatError(
            .file(.unreachable),
            "The SimpleX program closed the connection when its chats were to stop for the archive; some builds exit. "
                + "No archive was written or read. End the program if it still runs, and let ChatFS start it: "
                + "--core simplex-chat:/path/of/the/program --database PREFIX.", cause: error)
    }

    private static let notUnderstood = ChatError(
        .internalError, "The SimpleX core did not report the result of the archive.")
}
