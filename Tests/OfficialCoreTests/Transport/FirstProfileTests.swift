import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import OfficialCore

@Suite("First start of the program")
struct FirstProfileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A program that asks for a display name like the official one, writes the name to its database's path
    /// and ends.
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

    @Test("the option names the first profile")
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

    @Test("the answer names the first profile")
    func asked() async throws {
        var settings = try settings()
        settings.askProfile = { "Ann Lee" }
        #expect(await failure(settings)?.code == .database)
        #expect(named == "Ann Lee")
    }

    @Test("without a name the start fails")
    func nobody() async throws {
        var settings = try settings()
        #expect(await failure(settings)?.sentence.contains("--profile") == true)
        settings.askProfile = { nil }
        #expect(await failure(settings)?.code == .noProfile)
        #expect(named == nil)
    }

    @Test("a name with a line break is refused")
    func lineBreak() async throws {
        var settings = try settings()
        settings.newProfile = "ann\nbob"
        #expect(await failure(settings)?.code == .invalidCommand)
        #expect(named == nil)
    }
}
