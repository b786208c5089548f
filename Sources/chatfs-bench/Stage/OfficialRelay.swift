import Glibc
import Posix

/// An official relay as a child of the stage.
struct OfficialRelay: Sendable {
    /// Its address in SimpleX's form: `smp://…` or `xftp://…`.
    let address: String

    /// A relay for files with its default certificates.
    static func start(
        _ programs: OfficialPrograms, _ name: String, on stage: Stage
    ) async throws -> OfficialRelay {
        try await start(
            programs, scheme: "xftp", settings: "file-server.ini", name,
            ["init", "-p", stage.makeFolder(name + "-files"), "-q", "100gb", "--fqdn", "localhost"], on: stage
        )
    }

    /// A relay for messages.
    static func startForMessages(
        _ programs: OfficialPrograms, _ name: String, on stage: Stage
    ) async throws -> OfficialRelay {
        try await start(
            programs, scheme: "smp", settings: "smp-server.ini", name,
            [
                "init", "-y", "--no-password", "--ip", "127.0.0.1", "--fqdn", "127.0.0.1", "--disable-web",
            ], on: stage)
    }

    private static func start(
        _ programs: OfficialPrograms, scheme: String, settings name: String, _ relay: String,
        _ initialisation: [String], on stage: Stage
    ) async throws -> OfficialRelay {
        let program = programs.folder + "/\(scheme)-server"
        let variables = "\(scheme.uppercased())_SERVER"
        let environment = programs.environment.merging([
            variables + "_CFG_PATH": stage.path(relay + "-config"),
            variables + "_LOG_PATH": try stage.makeFolder(relay + "-log"),
        ]) { $1 }
        try await stage.run(program, initialisation, environment: environment)
        let port = try LocalPort.free()
        let configuration = stage.path(relay + "-config/" + name)
        let settings = try text(configuration).replacing(/(?m)^port: .*$/, with: "port: \(port)")
        let file = try OpenFile(configuration, flags: O_WRONLY | O_TRUNC)
        try file.write(Array(settings.utf8), at: 0)
        let fingerprint =
            try text(stage.path(relay + "-config/fingerprint"))
            .split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        _ = try await stage.start(program, ["start"], environment: environment)
        try await stage.wait(for: "the official \(scheme)-server") { LocalPort.isOpen(port) }
        return OfficialRelay(address: "\(scheme)://\(fingerprint)@127.0.0.1:\(port)")
    }

    private static func text(_ path: String) throws(SystemError) -> String {
        String(decoding: try OpenFile(path, flags: O_RDONLY).readAll(limit: 1 << 20), as: UTF8.self)
    }
}
