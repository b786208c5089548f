import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import OfficialCore

@Suite("The first start of the program makes a profile")
struct FirstProfileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A program that asks for a name as the real one does, writes it down where its database would be, and
    /// ends instead of listening.
    private func settings() throws -> CoreProgramSettings {
        let program = try folder.write(
            Array(
                """
                #!/bin/sh
                case " $* " in
                *" -e /user "*) read -r name && printf %s "$name" > "\(folder.path)/named" ;;
                *) exit 3 ;;
                esac

                """.utf8), to: "simplex-chat")
        chmod(program, 0o700)
        var settings = CoreProgramSettings(
            database: try DatabaseFiles(prefix: folder.path("db")), filesFolder: folder.path,
            temporaryFolder: folder.path)
        settings.program = program
        return settings
    }

    private func failure(_ settings: CoreProgramSettings) async -> OfficialCoreError? {
        do throws(OfficialCoreError) {
            await (try await ProcessTransport.start(settings)).close()
            return nil
        } catch {
            return error
        }
    }

    private var named: String? { (try? folder.read("named")).map { String(decoding: $0, as: UTF8.self) } }

    @Test("under the name that was given with the command")
    func given() async throws {
        var settings = try settings()
        settings.newProfile = "Zoë"
        settings.askProfile = {
            Issue.record("asked though the name was given")
            return nil
        }
        #expect(await failure(settings)?.code == .database)
        #expect(named == "Zoë")
    }

    @Test("under the name that was asked for")
    func asked() async throws {
        var settings = try settings()
        settings.askProfile = { "Ann Lee" }
        #expect(await failure(settings)?.code == .database)
        #expect(named == "Ann Lee")
    }

    @Test("and without one it is not started, and says what is missing")
    func nobody() async throws {
        var settings = try settings()
        #expect(await failure(settings)?.sentence.contains("--profile") == true)
        settings.askProfile = { nil }
        #expect(await failure(settings)?.code == .noProfile)
        #expect(named == nil)
    }

    @Test("a name with a line break would be an answer to the next question too")
    func lineBreak() async throws {
        var settings = try settings()
        settings.newProfile = "ann\nbob"
        #expect(await failure(settings)?.code == .invalidCommand)
        #expect(named == nil)
    }
}
