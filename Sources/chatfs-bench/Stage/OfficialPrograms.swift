import Base
import Glibc
import Posix

/// The official programs, as released or without Nagle's algorithm.
struct OfficialPrograms: Sendable {
    /// The folder of the programs.
    let folder: String
    /// A preloaded library, or nil as released.
    let preloaded: String?

    /// Throws if `OFFICIAL_BIN` is no folder with all of these.
    static func find(
        _ plan: Plan, _ names: [String] = ["xftp", "xftp-server"]
    ) throws -> OfficialPrograms {
        guard let folder = plan.official,
            names.allSatisfy({ access(folder + "/" + $0, X_OK) == 0 })
        else {
            let list = [names.dropLast().joined(separator: ", "), names.last ?? ""]
                .filter { !$0.isEmpty }.joined(separator: " and ")
            throw BenchError(.missing, "OFFICIAL_BIN names no folder with \(list).")
        }
        return OfficialPrograms(folder: folder, preloaded: nil)
    }

    /// The same with TCP_NODELAY on every connection.
    func withoutDelay(on stage: Stage) async throws -> OfficialPrograms {
        let library = try await CProgram.build("nodelay.c", flags: ["-shared", "-fPIC", "-ldl"], on: stage)
        return OfficialPrograms(folder: folder, preloaded: library)
    }

    var environment: [String: String?] {
        var environment: [String: String?] = ["LC_ALL": "C.UTF-8"]
        if let preloaded { environment["LD_PRELOAD"] = preloaded }
        return environment
    }

    /// The client's version.
    static func version(_ plan: Plan) async -> String? {
        guard let programs = try? find(plan) else { return nil }
        var settings = ChildProcess.Settings(programs.folder + "/xftp", ["--version"])
        settings.environment = programs.environment
        let child = try? await ObservedProcess.start(settings)
        guard await child?.ending(within: .seconds(30)) == .code(0) else { return nil }
        return child?.lines.first
    }

    /// Runs `xftp send` and `xftp recv` of one file as whole commands. Returns the seconds of both.
    /// - Parameters:
    ///   - relay: Its address.
    ///   - name: A new name for every call.
    func exchange(
        _ source: String, through relay: String, named name: String, on stage: Stage
    ) async throws -> (send: Double, receive: Double) {
        let folders = try ["", "-sent", "-received", "-temporary"].map { try stage.makeFolder(name + $0) }
        let file = source.lastPathName ?? source
        try await stage.settle()
        var start = ContinuousClock.now
        try await client(
            ["send", source, folders[1], "-s", relay, "--tmp", folders[3]], on: stage)
        let send = FileWork.seconds(since: start)
        try await stage.settle()
        start = ContinuousClock.now
        try await client(
            ["recv", "\(folders[1])/\(file).xftp/rcv1.xftp", folders[2], "--tmp", folders[3], "-y"], on: stage
        )
        let receive = FileWork.seconds(since: start)
        let equal = try await ThreadPool.shared.run { () throws(SystemError) in
            defer { unlink("\(folders[2])/\(file)") }
            return try FileWork.read(source).sum == FileWork.read("\(folders[2])/\(file)").sum
        }
        guard equal else { throw BenchError(.wrong, "xftp recv left other bytes than xftp send took.") }
        return (send, receive)
    }

    private func client(_ arguments: [String], on stage: Stage) async throws {
        try await stage.run(folder + "/xftp", arguments, environment: environment)
    }
}
