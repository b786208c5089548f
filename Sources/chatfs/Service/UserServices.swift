import Base
import CommandLineKit
import Glibc
import Posix

/// Access to this user's systemd through `systemctl --user`. Changes only units of ChatFS.
struct UserServices: Sendable {
    private let program: String
    private let timeout: Duration
    private let home: String
    private let configHome: String?
    private let dataHome: String?

    /// - Throws: `Refusal` if no systemd serves this user.
    static func found() async throws -> UserServices {
        let words = "'chatfs mount NAME --background' mounts without it."
        guard let program = ProgramSearch.path(of: "systemctl") else {
            throw Refusal("This machine has no systemd: \(words)")
        }
        let services = UserServices(program)
        let answer = try await services.ask(["show", "--property=Version"])
        guard answer.succeeded else {
            throw Refusal("No systemd serves this user here (\(answer.reason)): \(words)")
        }
        return services
    }

    /// - Parameters:
    ///   - program: The path of systemctl.
    ///   - timeout: The limit of all its commands except `start`.
    init(_ program: String, timeout: Duration = .seconds(120)) {
        func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
        (self.program, self.timeout) = (program, timeout)
        home = variable("HOME") ?? "/"
        configHome = variable("XDG_CONFIG_HOME")
        dataHome = variable("XDG_DATA_HOME")
    }

    struct Answer: Sendable {
        var succeeded: Bool
        var output: String
        /// First line on standard error.
        var reason: String
    }

    /// Starts the unit of a mount and waits for the result. Only the unit's `TimeoutStartSec` limits that: a start may
    /// migrate data.
    func start(_ mount: String) async throws -> Answer {
        try await ask(["start", ServiceUnit.name(of: mount)], within: .seconds(Int64.max))
    }

    /// Runs `systemctl --user` to its end.
    ///
    /// - Throws: `Refusal` if it does not end within `limit`, by default the timeout.
    func ask(_ arguments: [String], within limit: Duration? = nil) async throws -> Answer {
        var settings = ChildProcess.Settings(program, ["--user", "--no-pager"] + arguments)
        settings.environment = ["LC_ALL": "C.UTF-8"]
        let process = try await ObservedProcess.start(settings)
        guard let ending = await process.ending(within: limit ?? timeout) else {
            await process.stop(timeout: .seconds(1))
            throw Refusal("systemctl does not answer.")
        }
        let reason = process.errors.split(separator: "\n").first.map(String.init) ?? "no reason given"
        return Answer(succeeded: ending == .code(0), output: process.output, reason: reason)
    }

    /// Runs a step that must succeed.
    func carryOut(_ arguments: [String]) async throws {
        let answer = try await ask(arguments)
        guard answer.succeeded else { throw Refusal(answer.reason) }
    }

    func state(of mount: String) async throws -> ServiceState {
        let unit = ServiceUnit.name(of: mount)
        let answer = try await ask(["show", "--property=\(ServiceState.properties)", unit])
        guard answer.succeeded else { throw Refusal(answer.reason) }
        return ServiceState(answer.output)
    }

    // MARK: - The template

    private var ownTemplate: String {
        ServiceUnit.ownFolder(home: home, configHome: configHome) + "/" + ServiceUnit.template
    }

    /// Returns the path of the template; nil if there is none. Blocks.
    func template() -> String? {
        ServiceUnit.folders(home: home, configHome: configHome, dataHome: dataHome)
            .map { $0 + "/" + ServiceUnit.template }.first { access($0, R_OK) == 0 }
    }

    /// Writes the template for this program if none is installed, or rewrites its own. Blocks.
    ///
    /// - Returns: Path of the template; nil if an installed one is used.
    func provideTemplate() throws -> String? {
        if let found = template(), found != ownTemplate || !isOwn(found) { return nil }
        guard let program = RunningProgram.executable(of: getpid()) else {
            throw Refusal("The path of this program is unknown; is /proc mounted?")
        }
        let folder = ServiceUnit.ownFolder(home: home, configHome: configHome)
        for count in 1...folder.pathNames.count {
            let path = "/" + folder.pathNames.prefix(count).joined(separator: "/")
            if mkdir(path, 0o755) != 0, errno != EEXIST {
                throw SystemError(code: errno, operation: "make \(path)")
            }
        }
        try PrivateFolder.write(
            Array(ServiceUnit.text(program: program).utf8), to: ServiceUnit.template,
            in: OpenFile(folder, flags: O_RDONLY))
        return ownTemplate
    }

    /// Removes the template if `provideTemplate` wrote it and no mount uses it. Blocks.
    ///
    /// - Returns: Path of the removed template; nil if it stays.
    func removeTemplate() -> String? {
        let folder = ServiceUnit.ownFolder(home: home, configHome: configHome)
        let wants = ServiceUnit.targets.map { "\(folder)/\($0).wants" }
        let enabled = wants.flatMap { (try? PrivateFolder.names(at: $0)) ?? [] }
        guard !enabled.contains(where: { $0.hasPrefix("chatfs@") }), isOwn(ownTemplate),
            unlink(ownTemplate) == 0
        else { return nil }
        // Non-empty folders stay.
        for folder in wants { rmdir(folder) }
        rmdir(folder)
        rmdir(folder.parentPath)
        return ownTemplate
    }

    private func isOwn(_ path: String) -> Bool {
        guard let file = try? OpenFile(path, flags: O_RDONLY), let bytes = try? file.readAll(limit: 1 << 16)
        else { return false }
        return String(decoding: bytes, as: UTF8.self).hasPrefix(ServiceUnit.mark)
    }
}
