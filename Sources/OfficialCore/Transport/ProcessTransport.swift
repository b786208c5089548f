import Base
import Glibc
import Network
import Posix

/// An official program that ChatFS starts, restarts after an exit, and stops with the mount.
///
/// Its port on the loopback interface has no password, so every program of every user of this machine can
/// reach it. The library has no port.
public final class ProcessTransport: OfficialTransport {
    private let program: CoreProgram
    private let socket: WebSocketTransport

    private init(program: CoreProgram, socket: WebSocketTransport) {
        self.program = program
        self.socket = socket
    }

    public var version: APIVersion { socket.version }

    /// Returns the path of the program that would be started: `program`, or `simplex-chat` from PATH.
    /// - Throws: `.notInstalled`.
    public static func find(_ program: String?) throws(OfficialCoreError) -> String {
        try CoreProgram.find(program)
    }

    /// Starts the program and connects to it.
    ///
    /// - Throws: `.encryptedDatabase`, because the passphrase would be visible in its arguments; `.inUse`,
    ///   `.notInstalled`, `.noProfile`, or the reason for a missing answer.
    public static func start(
        _ settings: CoreProgramSettings
    ) async throws(OfficialCoreError) -> ProcessTransport {
        let program = try await CoreProgram(settings)
        do throws(OfficialCoreError) {
            let locate: WebSocketLane.Locate = { () async throws(OfficialCoreError) in
                try await program.endpoint()
            }
            let socket = try await WebSocketTransport.connect(
                settings: WebSocketTransportSettings(), locate: locate)
            return ProcessTransport(program: program, socket: socket)
        } catch {
            await program.stop()
            throw error
        }
    }

    public func request(
        _ command: APICommand, lane: TransportLane, timeout: Duration, connection: UInt64?
    ) async throws(OfficialCoreError) -> APIResponse {
        try await socket.request(command, lane: lane, timeout: timeout, connection: connection)
    }

    public func connection(of lane: TransportLane) -> UInt64 { socket.connection(of: lane) }

    public func events() -> AsyncStream<TransportEvent> { socket.events() }

    public func close() async {
        await socket.close()
        await program.stop()
    }
}
