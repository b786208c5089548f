import Base
import Glibc
import Network
import Posix
import TestSupport

@testable import OfficialCore

/// The official programs, where `OFFICIAL_BIN` names the folder with `simplex-chat`, `smp-server` and
/// `xftp-server`.
enum OfficialPrograms {
    static let folder: String? = getenv("OFFICIAL_BIN").map { String(cString: $0) }
    static let areMissing: Bool = {
        guard let folder else { return true }
        return ["simplex-chat", "smp-server", "xftp-server"].contains { access("\(folder)/\($0)", X_OK) != 0 }
    }()
    static let environment: [String: String?] = ["LC_ALL": "C.UTF-8"]

    static func path(_ program: String) -> String { (folder ?? "") + "/" + program }
}

/// An official message server and an official file server of the test, on loopback.
final class OfficialRelays: Sendable {
    let folder: TemporaryFolder
    let messages: String
    let files: String
    private let processes: [RunningProcess]

    /// What `simplex-chat` needs to use these and no others.
    var arguments: [String] { ["-s", messages, "--xftp-server", files] }

    init() async throws {
        let folder = try TemporaryFolder()
        for name in ["files", "smp-log", "xftp-log"] { _ = try folder.makeFolder(name) }
        let smp = try await Self.start(
            "smp-server",
            ["init", "-y", "--no-password", "--ip", "127.0.0.1", "--fqdn", "127.0.0.1", "--disable-web"],
            variables: ["SMP_SERVER_CFG_PATH": "smp", "SMP_SERVER_LOG_PATH": "smp-log"],
            settings: "smp/smp-server.ini", in: folder)
        let xftp = try await Self.start(
            "xftp-server", ["init", "-p", folder.path("files"), "-q", "10gb", "--fqdn", "localhost"],
            variables: ["XFTP_SERVER_CFG_PATH": "xftp", "XFTP_SERVER_LOG_PATH": "xftp-log"],
            settings: "xftp/file-server.ini", in: folder)
        messages = "smp://\(try Self.fingerprint("smp", folder))@127.0.0.1:\(smp.port)"
        files = "xftp://\(try Self.fingerprint("xftp", folder))@localhost:\(xftp.port)"
        processes = [smp.process, xftp.process]
        self.folder = folder
    }

    private static func fingerprint(_ name: String, _ folder: TemporaryFolder) throws -> String {
        let text = String(decoding: try folder.read(name + "/fingerprint"), as: UTF8.self)
        return text.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
    }

    private static func start(
        _ program: String, _ arguments: [String], variables: [String: String], settings: String,
        in folder: TemporaryFolder
    ) async throws -> (process: RunningProcess, port: UInt16) {
        let environment = OfficialPrograms.environment.merging(
            variables.mapValues { folder.path($0) }
        ) { $1 }
        let made = try await Shell.run(
            OfficialPrograms.path(program), arguments, environment: environment)
        guard made.succeeded else { throw WaitedInVain("\(program) init failed\n\(made.errors)") }
        guard let port = LoopbackPort.unused() else { throw WaitedInVain("no port is free") }
        let text = String(decoding: try folder.read(settings), as: UTF8.self)
        try folder.write(
            Array(text.replacing(/(?m)^port: .*$/, with: "port: \(port)").utf8), to: settings)
        var start = ChildProcess.Settings(OfficialPrograms.path(program), ["start"])
        start.environment = environment
        let process = try await RunningProcess.start(start)
        try await wait(until: "\(program) listens") { !ProcessTable.listeners(on: port).isEmpty }
        return (process, port)
    }

    /// Ends both; what they stored goes with the folder.
    func stop() async throws {
        for process in processes { process.send(SIGINT) }
        for process in processes { try await process.ending() }
    }
}
