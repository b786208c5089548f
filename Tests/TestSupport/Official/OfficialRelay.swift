import Base
import Glibc
import Network
import Posix

/// An official relay on loopback. Keeps keys, port and data across restarts.
public final class OfficialRelay: Sendable {
    /// Its address in SimpleX's form: `smp://…` or `xftp://…`, without a password.
    public let address: String
    private let program: String
    private let environment: [String: String?]
    private let port: UInt16
    private let process = Lock<RunningProcess?>(nil)
    private let folder: TemporaryFolder

    /// Starts one for messages.
    public static func messages(in folder: TemporaryFolder) async throws -> OfficialRelay {
        try await OfficialRelay(
            "smp", "smp-server", host: "127.0.0.1", settings: "smp-server.ini",
            ["--no-password", "--ip", "127.0.0.1", "--fqdn", "127.0.0.1", "--disable-web"], nil, folder)
    }

    /// Starts one for files. `algorithm` is that of its certificates, `ED25519` or `ED448`; `quota` the space for
    /// chunks, such as `1mb`.
    public static func files(
        in folder: TemporaryFolder, algorithm: String = "ED448", password: String? = nil,
        quota: String = "10gb"
    ) async throws -> OfficialRelay {
        let stored = try folder.makeFolder("xftp-files")
        return try await OfficialRelay(
            "xftp", "xftp-server", host: "localhost", settings: "file-server.ini",
            ["-p", stored, "-q", quota, "--fqdn", "localhost", "-a", algorithm], password, folder)
    }

    private init(
        _ name: String, _ program: String, host: String, settings: String, _ options: [String],
        _ password: String?, _ folder: TemporaryFolder
    ) async throws {
        self.program = OfficialPrograms.path(program)
        self.folder = folder
        let variables = [
            "\(name.uppercased())_SERVER_CFG_PATH": folder.path(name),
            "\(name.uppercased())_SERVER_LOG_PATH": try folder.makeFolder("\(name)-log"),
        ]
        environment = OfficialPrograms.environment.merging(variables) { $1 }
        let answered = name == "smp" ? ["init", "-y"] : ["init"]
        let made = try await Shell.run(self.program, answered + options, environment: environment)
        guard made.succeeded else { throw WaitedInVain("\(program) init failed\n\(made.errors)") }
        guard let port = LoopbackPort.unused() else { throw WaitedInVain("no port is free") }
        self.port = port
        var text = String(decoding: try folder.read("\(name)/\(settings)"), as: UTF8.self)
        text = text.replacing(/(?m)^port: .*$/, with: "port: \(port)")
        if let password { text = text.replacing("[AUTH]", with: "[AUTH]\ncreate_password: \(password)") }
        try folder.write(Array(text.utf8), to: "\(name)/\(settings)")
        let fingerprint =
            String(decoding: try folder.read("\(name)/fingerprint"), as: UTF8.self)
            .split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        address = "\(name)://\(fingerprint)@\(host):\(port)"
        try await start()
    }

    /// Restarts it at its old address.
    public func start() async throws {
        var settings = ChildProcess.Settings(program, ["start"])
        settings.environment = environment
        let started = try await RunningProcess.start(settings)
        process.withLock { $0 = started }
        try await wait(until: "\(program) listens", within: .seconds(60)) {
            guard started.isRunning else {
                throw WaitedInVain("\(program) ended\n\(started.output)\n\(started.errors)")
            }
            return isListening()
        }
    }

    private func isListening() -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
        address.sin_port = port.bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    /// SIGSTOP and SIGCONT silence it for a while: connections stay without answers.
    public func send(_ signal: Int32) { process.withLock { $0 }?.send(signal) }

    /// Kills it in the middle of its work.
    public func kill() async throws {
        send(SIGKILL)
        try await process.withLock { $0 }?.ending()
    }

    /// Ends it cleanly, so that it stores its data.
    public func stop() async throws {
        send(SIGINT)
        try await process.withLock { $0 }?.ending()
    }
}
