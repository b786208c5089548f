import Base
import Glibc
import Network
import OfficialCore
import Posix
import XFTP

/// Examines an official core: its version, and access to its database and folders. Changes nothing: it opens
/// no database of the user, because opening may migrate one.
struct CoreExamination: Sendable {
    let address: OfficialCoreAddress
    let database: DatabaseFiles?
    let filesFolder: String?

    struct Result: Sendable {
        var findings: [Finding] = []
        /// Relays configured in the core.
        var relays: [RelayAddress] = []
    }

    func run() async -> Result {
        var result = Result()
        switch address {
        case .library(let path): await library(path, &result)
        case .webSocket(let endpoint): await running(endpoint, &result)
        case .program(let path): await program(path, &result)
        case .phone:
            result.findings.append(.note("a phone is checked when it connects: see 'chatfs phone list'"))
        }
        if let filesFolder { result.findings.append(await ThreadPool.shared.run { folder(filesFolder) }) }
        return result
    }

    // MARK: - Kinds of cores

    /// Tries the library on a temporary database.
    private func library(_ path: String, _ result: inout Result) async {
        let scratch: PrivateFolder
        do throws(SystemError) {
            scratch = try await ThreadPool.shared.run { () throws(SystemError) in try Self.scratchFolder() }
        } catch {
            return result.findings.append(.bad(error.sentence))
        }
        do throws(OfficialCoreError) {
            let transport = try await LibraryTransport.open(
                library: path, database: try DatabaseFiles(prefix: scratch.path + "/doctor"))
            let answer = try await transport.request(.version)
            await transport.close()
            if case .version(let version) = answer {
                result.findings.append(Self.version(version, of: "the library"))
            } else {
                result.findings.append(.bad("the library does not report its version"))
            }
        } catch {
            result.findings.append(.bad(error.sentence))
        }
        // A failure leaves an empty database in this user's temporary folder, which is harmless.
        _ = try? await ThreadPool.shared.run { () throws(SystemError) in try scratch.remove() }
        result.findings += await databaseFindings(canDecrypt: true)
    }

    private func running(_ endpoint: Endpoint, _ result: inout Result) async {
        do throws(OfficialCoreError) {
            let transport = try await WebSocketTransport.connect(to: endpoint)
            result.findings.append(Self.version(transport.version, of: "the core at \(endpoint)"))
            result.findings.append(
                .note(
                    "every program and web page of this machine can reach that port; the library opens no port"
                ))
            do throws(OfficialCoreError) {
                if case .activeUser(let user) = try await transport.request(.user) {
                    result.findings.append(
                        .good("its profile is \(user.displayName)", naming: [user.displayName]))
                    if case .relays(let relays) = try await transport.request(.relays(user: user.id)) {
                        result.relays = relays.compactMap { RelayAddress($0) }
                    }
                }
            } catch {
                result.findings.append(.bad(error.sentence))
            }
            await transport.close()
        } catch {
            result.findings.append(.bad(error.sentence))
        }
        if filesFolder == nil {
            result.findings.append(
                .note("give --files-folder to check the core's files folder"))
        }
    }

    private func program(_ path: String?, _ result: inout Result) async {
        do {
            let executable = try ProcessTransport.find(path)
            var start = ChildProcess.Settings(executable, ["--version"])
            start.environment = ["LC_ALL": "C.UTF-8"]
            let process = try await ObservedProcess.start(start, keeping: 4096)
            let ending = await process.ending(within: .seconds(20))
            // "SimpleX Chat v6.4.5.1"
            let word = process.lines.first?.split(separator: " ").last.map(String.init) ?? ""
            if ending == .code(0), word.hasPrefix("v") {
                let version = APIVersion(version: String(word.dropFirst()))
                result.findings.append(Self.version(version, of: "the program"))
            } else {
                await process.stop(timeout: .seconds(1))
                result.findings.append(
                    .bad("the program does not report its version; it may not be SimpleX Chat"))
            }
        } catch {
            result.findings.append(.bad(sentence(of: error)))
        }
        result.findings += await databaseFindings(canDecrypt: false)
    }

    // MARK: - Parts

    private static func version(_ version: APIVersion, of what: String) -> Finding {
        version.isSupported
            ? .good("\(what) is SimpleX Chat \(version.version)")
            : .bad("\(what) is SimpleX Chat \(version.version); ChatFS needs 6.4 or later")
    }

    private func databaseFindings(canDecrypt: Bool) async -> [Finding] {
        guard let database else { return [] }
        return await ThreadPool.shared.run {
            var findings: [Finding] = []
            do throws(SystemError) {
                switch try database.condition() {
                case .missing:
                    findings.append(.note("there is no database yet; the first mount creates it"))
                case .plain:
                    findings.append(.note("the database exists and is not encrypted"))
                case .encrypted where canDecrypt:
                    findings.append(
                        .good("the database exists and is encrypted; mounting needs its passphrase"))
                case .encrypted:
                    findings.append(
                        .bad(
                            "the database is encrypted, and the program would expose its passphrase to other "
                                + "users: use the library, or attach to a running program"))
                }
            } catch {
                findings.append(.bad("the database cannot be examined: \(error.sentence)"))
            }
            if let user = database.user() {
                findings.append(.bad("\(user) has the database open; only one program may use it"))
            }
            return findings
        }
    }

    private func folder(_ path: String) -> Finding {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            return .bad("the files folder does not exist")
        }
        guard access(path, R_OK | W_OK | X_OK) == 0 else {
            return .bad("this user cannot read and write the files folder")
        }
        return status.st_mode & 0o077 == 0
            ? .good("the files folder can be used")
            : .note("the files folder can be used, also by other users: chmod 700 denies them access")
    }

    private static func scratchFolder() throws(SystemError) -> PrivateFolder {
        let base = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) } ?? "/tmp"
        let name = Hexadecimal.encode(SystemRandomSource().bytes(8))
        return try PrivateFolder("\(base)/chatfs-doctor-\(name)", purpose: "chatfs doctor")
    }
}
