import Base
import ChatCore
import ScriptedCore
import TestSupport
import Testing

@testable import OfficialCore

/// The first commands to a core depend on its ownership and profiles.
@Suite("Setup of a core session")
struct SessionTests {
    private struct Core: Sendable {
        var active: String? = "alice"
        var users = ["alice", "bob"]
        /// Answers that replace the usual ones, by command.
        var answers: [String: String] = [:]

        static func user(_ name: String) -> String {
            let id = ["alice": 1, "bob": 2][name] ?? 3
            return #"{"userId":\#(id),"localDisplayName":"\#(name)","profile":{"displayName":"\#(name)"}}"#
        }

        func answer(_ text: String) -> String {
            if let answer = answers.first(where: { text.hasPrefix($0.key) })?.value { return answer }
            if text == "/user" {
                return active.map { #"{"type":"activeUser","user":\#(Self.user($0))}"# }
                    ?? #"{"type":"chatCmdError","chatError":{"type":"error","errorType":{"type":"noActiveUser"}}}"#
            }
            if text == "/users" {
                return
                    #"{"type":"usersList","users":[\#(users.map { #"{"user":\#(Self.user($0)),"unreadCount":0}"# }.joined(separator: ","))]}"#
            }
            if text.hasPrefix("/_user ") {
                return #"{"type":"activeUser","user":\#(Self.user(text.hasSuffix("2") ? "bob" : "alice"))}"#
            }
            if text.hasPrefix("/_create user ") {
                let name = text.firstMatch(of: /"displayName":"([^"]*)"/).map { String($0.1) } ?? ""
                return #"{"type":"activeUser","user":\#(Self.user(name))}"#
            }
            return #"{"type":"cmdOk"}"#
        }
    }

    private func settings(_ ownership: OfficialCoreSettings.Ownership, _ name: String? = nil)
        -> OfficialCoreSettings
    {
        var settings = OfficialCoreSettings(
            ownership: ownership, filesFolder: "/f", temporaryFolder: "/t", folder: "/k")
        settings.profileName = name
        return settings
    }

    private func begin(_ core: Core, _ settings: OfficialCoreSettings) async throws -> (
        profile: Profile, commands: [String]
    ) {
        let transport = ScriptedTransport { core.answer($0) }
        let found = try await Session.find(transport, settings)
        try await Session.start(found, transport, settings)
        return (found.profile, transport.commands)
    }

    private func failure(_ core: Core, _ settings: OfficialCoreSettings) async -> (
        error: ChatError?, commands: [String]
    ) {
        let transport = ScriptedTransport { core.answer($0) }
        do {
            let found = try await Session.find(transport, settings)
            try await Session.start(found, transport, settings)
            return (nil, transport.commands)
        } catch {
            return (error as? ChatError ?? (error as? OfficialCoreError)?.chatError, transport.commands)
        }
    }

    @Test(
        "the setup depends on the core's ownership"
    )
    func owners() async throws {
        let folders = ["/_files_folder /f", "/_temp_folder /t", "/_files_encrypt on"]
        #expect(try await begin(Core(), settings(.attached)).commands == ["/user"])
        #expect(try await begin(Core(), settings(.program)).commands == ["/user"] + folders)
        let library = try await begin(Core(), settings(.library))
        #expect(library.commands == ["/user"] + folders + ["/_start"])
        #expect(library.profile == Profile(id: 1, displayName: "alice"))
    }

    @Test(
        "only an own core changes its profile"
    )
    func profiles() async throws {
        #expect(
            try await begin(Core(), settings(.program, "alice")).commands
                == begin(Core(), settings(.program)).commands)
        let other = try await begin(Core(), settings(.library, "bob"))
        #expect(other.profile == Profile(id: 2, displayName: "bob"))
        #expect(other.commands.first == "/user" && other.commands.dropFirst().first == "/users")
        #expect(other.commands.suffix(2) == ["/_user 2", "/_start"])
        let foreign = await failure(Core(), settings(.attached, "bob"))
        #expect(foreign.error?.code == .noSuchProfile)
        #expect(foreign.error?.sentence.contains("alice: switch there, or omit --profile.") == true)
        #expect(foreign.commands == ["/user", "/users"], "nothing is switched in it")
        let unknown = await failure(Core(), settings(.program, "carol"))
        #expect(unknown.error?.code == .noSuchProfile)
        #expect(unknown.error?.sentence.hasSuffix("the active one is alice.") == true)
    }

    @Test(
        "an empty database gets a named profile"
    )
    func first() async throws {
        let empty = Core(active: nil)
        var given = settings(.library, "Zoe")
        given.askName = {
            Issue.record("asked though the name was given")
            return nil
        }
        let made = try await begin(empty, given)
        #expect(made.profile == Profile(id: 3, displayName: "Zoe"))
        #expect(
            made.commands.dropFirst().first?.hasPrefix(#"/_create user {"profile":{"displayName":"Zoe""#)
                == true)
        var asking = settings(.program)
        asking.askName = { "Max" }
        #expect(try await begin(empty, asking).profile.displayName == "Max")
        for answer in [nil, ""] as [String?] {
            asking.askName = { answer }
            let refused = await failure(empty, asking)
            #expect(refused.error?.code == .noSuchProfile)
            #expect(refused.error?.sentence.hasSuffix("give the first one a name with --profile.") == true)
            #expect(!refused.commands.contains { $0.hasPrefix("/_create") })
        }
        #expect(await failure(empty, settings(.attached)).error?.code == .noSuchProfile)
        #expect(
            await failure(empty, settings(.program, String(repeating: "x", count: 256))).error?.code
                == .invalidCommand)
    }

    @Test("a refused setup ends with its reason")
    func failures() async throws {
        let refusal =
            #"{"type":"chatCmdError","chatError":{"type":"errorDatabase","databaseError":{"type":"errorOpen"}}}"#
        for (command, asked) in [
            ("/user", 1), ("/_files_folder", 2), ("/_temp_folder", 3), ("/_files_encrypt", 4), ("/_start", 5),
        ] {
            let failed = await failure(Core(answers: [command: refusal]), settings(.library))
            #expect(failed.error?.code == .storage)
            #expect(failed.error?.sentence == "The SimpleX core could not work with its database.")
            #expect(failed.commands.count == asked)
        }
        for command in ["/user", "/users", "/_user"] {
            let failed = await failure(
                Core(answers: [command: #"{"type":"cmdOk"}"#]), settings(.library, "bob"))
            #expect(failed.error != nil && failed.commands.last != "/_start")
        }
        #expect(
            await failure(Core(answers: ["/user": #"{"type":"cmdOk"}"#]), settings(.library)).error?.sentence
                == "The SimpleX core did not name its profile.")
        #expect(
            await failure(Core(answers: ["/_start": #"{"type":"chatRunning"}"#]), settings(.library)).error
                == nil)
    }

    @Test("early events and failures are reported")
    func connection() async throws {
        func first(_ events: [TransportEvent]) async throws(ChatError) -> Int {
            let stream = TransportEvents()
            for event in events { stream.tell(event) }
            stream.finish()
            var iterator = stream.stream().makeAsyncIterator()
            return try await Session.firstConnection(&iterator, timeout: .seconds(60)).count
        }
        let event = TransportEvent.event(APIEvent(userID: 1, kind: .chatSuspended))
        #expect(try await first([.connected]) == 0)
        #expect(try await first([event, .disconnected("No."), event, .connected, event]) == 2)
        for (events, sentence) in [
            ([], "The SimpleX core did not answer."), ([event, .disconnected("It is away.")], "It is away."),
        ] as [([TransportEvent], String)] {
            do throws(ChatError) {
                _ = try await first(events)
                Issue.record("it was connected")
            } catch {
                #expect(error.code == .file(.unreachable) && error.sentence == sentence)
            }
        }
    }

    @Test("only an own core is set up again")
    func again() async throws {
        for (ownership, times) in [(OfficialCoreSettings.Ownership.program, 2), (.attached, 0)] {
            let stage = try Stage()
            let core = try await stage.open(ownership)
            let asked = stage.simplex.count("/_get chats")
            stage.transport.disconnect()
            stage.transport.connect()
            #expect(await eventually { stage.simplex.count("/_get chats") > asked })
            for command in ["/_files_folder", "/_temp_folder", "/_files_encrypt on"] {
                #expect(stage.simplex.count(command) == times)
            }
            #expect(stage.simplex.count("/user") == 1)
            await core.shutDown()
        }
    }
}
