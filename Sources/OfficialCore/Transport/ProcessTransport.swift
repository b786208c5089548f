import Base
import Glibc
import Network
import Posix

/// An official program that ChatFS starts for itself and stops with the mount. When it ends in between it
/// is started again.
///
/// Its port is on the loopback interface and has no password: every program of every user of this machine
/// can reach it. That is SimpleX Chat's own way; the library has no port.
public final class ProcessTransport: OfficialTransport {
    private let program: CoreProgram
    private let socket: WebSocketTransport

    private init(program: CoreProgram, socket: WebSocketTransport) {
        self.program = program
        self.socket = socket
    }

    public var version: APIVersion { socket.version }

    /// The path of the program that would be started: `program`, or `simplex-chat` from PATH.
    /// - Throws: `.notInstalled`.
    public static func find(_ program: String?) throws(OfficialCoreError) -> String {
        try CoreProgram.find(program)
    }

    /// Starts the program and connects to it.
    ///
    /// - Throws: `.encryptedDatabase`, since the passphrase would be visible to everybody on its command
    ///   line; `.inUse`, `.notInstalled`, `.noProfile`, or what kept it from answering.
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
