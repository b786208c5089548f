import ChatCore
import Testing

@testable import OfficialCore

@Suite("Archive of an official core")
struct CoreArchiveTests {
    private func open(
        _ stage: Stage, _ ownership: OfficialCoreSettings.Ownership
    ) async throws -> CoreArchive {
        try await CoreArchive.open(stage.transport, stage.settings(ownership))
    }

    @Test("an own core stops and archives its files")
    func ofOurOwn() async throws {
        let stage = try Stage { state in
            state.refusals["/_start"] = #"{"type":"error","errorType":{"type":"commandError"}}"#
        }
        stage.simplex.change { $0.archiveErrors = [#"{"type":"fileError","file":"a b","fileError":"gone"}"#] }
        let archive = try await open(stage, .library)
        let problems = try await archive.write(to: "/backup/chats.zip", temporary: "/backup")
        #expect(problems == [APIArchiveProblem(file: "a b", sentence: "gone")])
        await archive.close()
        let commands = stage.simplex.commands
        let stopped = try #require(commands.firstIndex(of: "/_stop"))
        let folder = try #require(commands.firstIndex { $0.hasPrefix("/_files_folder ") })
        let written = try #require(commands.firstIndex { $0.hasPrefix("/_db export ") })
        #expect(folder < stopped && stopped < written)
        #expect(commands[written].contains(#""archivePath":"/backup/chats.zip""#))
        #expect(commands[written].contains(#""parentTempDirectory":"/backup""#))
        #expect(stage.simplex.count("/_start") == 0)
    }

    @Test("a running program restarts after the archive")
    func ofRunning() async throws {
        for refuses in [false, true] {
            let stage = try Stage { state in
                if refuses {
                    state.refusals["/_db export"] =
                        #"{"type":"error","errorType":{"type":"chatNotStopped"}}"#
                }
            }
            let archive = try await open(stage, .attached)
            do {
                _ = try await archive.write(to: "/backup/chats.zip", temporary: "/backup")
                #expect(!refuses)
            } catch {
                #expect(refuses && error.sentence.contains("must be stopped"), "\(error.sentence)")
            }
            await archive.close()
            let commands = stage.simplex.commands.filter { !$0.hasPrefix("/version") }
            #expect(commands.first == "/_stop" && commands.last == "/_start", "\(commands)")
            #expect(stage.simplex.count("/_files_folder") == 0)
        }
    }

    @Test("a reconnected program starts its chats again")
    func goesOnAfterABreak() async throws {
        let stage = try Stage()
        let archive = try await open(stage, .attached)
        stage.transport.disconnect()
        let closing = Task { await archive.close() }
        try await Task.sleep(for: .milliseconds(50))
        #expect(stage.simplex.count("/_start") == 0)
        stage.transport.connect()
        await closing.value
        #expect(stage.simplex.commands.last == "/_start", "\(stage.simplex.commands)")
    }

    @Test("an import reports what it skipped")
    func imported() async throws {
        let stage = try Stage()
        stage.simplex.change { $0.archiveErrors = [#"{"type":"import","importError":"no room"}"#, "{}"] }
        let archive = try await open(stage, .program)
        let problems = try await archive.read(from: "/backup/chats.zip", temporary: "/backup")
        #expect(problems.map(\.sentence) == ["no room", "no reason was given"])
        await archive.close()
    }

    @Test("mounted cores and unsafe paths are refused")
    func refused() async throws {
        let stage = try Stage()
        let core = try await stage.open(.attached)
        let other = try Stage()
        var settings = other.settings(.attached)
        settings.folder = stage.settings().folder
        do {
            _ = try await CoreArchive.open(other.transport, settings)
            Issue.record("it was opened twice")
        } catch {
            #expect(error.code == .profileInUse)
        }
        #expect(other.simplex.count("/_stop") == 0)
        await core.shutDown()
        stage.restart()

        let archive = try await open(stage, .attached)
        await #expect(throws: ChatError.self) {
            try await archive.write(to: "/a\n/_db delete", temporary: "/")
        }
        await archive.close()
        #expect(stage.simplex.count("/_db") == 0)
    }

    @Test("a cancelled archive starts the chats again")
    func cancelled() async throws {
        let stage = try Stage { $0.silent = ["/_stop"] }
        let opening = Task { _ = try await open(stage, .attached) }
        #expect(await eventually { stage.simplex.count("/_stop") == 1 })
        opening.cancel()
        await #expect(throws: ChatError.self) { try await opening.value }
        #expect(stage.simplex.commands.last == "/_start", "\(stage.simplex.commands)")
        // The same applies to chats that are already stopped.
        let resting = try Stage { $0.silent = ["/_db export"] }
        let archive = Task {
            let archive = try await open(resting, .attached)
            _ = try? await archive.write(to: "/backup/chats.zip", temporary: "/backup")
            await archive.close()
        }
        #expect(await eventually { resting.simplex.count("/_db export") == 1 })
        archive.cancel()
        try await archive.value
        #expect(resting.simplex.commands.last == "/_start", "\(resting.simplex.commands)")
    }
}
