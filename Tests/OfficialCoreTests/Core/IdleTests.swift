import ChatCore
import Glibc
import Posix
import ScriptedCore
import TestSupport
import Testing

@testable import OfficialCore

@Suite("Idle core")
struct IdleTests {
    /// A profile with a complete history and a database file that ChatFS watches.
    private func settled(
        _ ownership: OfficialCoreSettings.Ownership, database: String = "simplex_v1_chat.db"
    ) async throws -> (Stage, OfficialCore, database: String) {
        let stage = try Stage { state in
            state.history.append((1...120).map { ScriptedMessage(id: $0, contact: 1, name: "\($0).jpg") })
        }
        let path = try stage.folder.write([0], to: database)
        stage.simplex.change { $0.databasePath = path }
        let core = try await stage.open(ownership)
        #expect(
            try await eventually {
                let isRead = try await blocking.run {
                    try core.index.read { try $0.walks.unfinished().isEmpty }
                }
                let isPlanned = core.reconciliation.isPlanned
                let isWatched = core.reconciliation.isWatchingDatabase
                let count = try await ids(core).count
                return isRead && !isPlanned && (isWatched || ownership == .library) && count == 120
            })
        return (stage, core, path)
    }

    private func ids(_ core: OfficialCore) async throws -> [Int64] {
        try await core.items(of: .direct(1), before: nil, count: 1000).map(\.id.rawValue)
    }

    /// Whether the core gets no command during a period of twenty comparison intervals.
    private func becomesIdle(_ stage: Stage) async throws -> Bool {
        try await eventually {
            let before = stage.simplex.commands.count
            try await Task.sleep(for: stage.settings().reconcileInterval * 20)
            return stage.simplex.commands.count == before
        }
    }

    @Test(arguments: [OfficialCoreSettings.Ownership.attached, .program, .library])
    func idleCoreGetsNoCommands(ownership: OfficialCoreSettings.Ownership) async throws {
        let (stage, core, _) = try await settled(ownership)
        #expect(try await becomesIdle(stage))
        await core.shutDown()
    }

    @Test func databaseWriteStartsComparison() async throws {
        let (stage, core, database) = try await settled(.attached)
        for _ in 0..<3 {
            let id = stage.simplex.change { state -> Int64 in
                let id = state.history.newest + 1
                state.history.append(ScriptedMessage(id: id, contact: 1, name: "\(id).jpg"))
                return id
            }
            try OpenFile(database, flags: O_WRONLY).write([1], at: 0)
            #expect(try await eventually { try await ids(core).first == id })
        }
        #expect(core.reconciliation.isWatchingDatabase)
        #expect(try await becomesIdle(stage))
        await core.shutDown()
    }

    @Test func wrongDatabaseFileFallsBackToClock() async throws {
        let (stage, core, _) = try await settled(.attached)
        #expect(
            try await eventually {
                // The core reports an event that does not show in the watched file.
                stage.simplex.tellNew(
                    ScriptedMessage(
                        id: stage.simplex.change { $0.history.newest + 1 }, contact: 1, name: "more.jpg"))
                try await Task.sleep(for: .milliseconds(20))
                return !core.reconciliation.isWatchingDatabase
            })
        let id = stage.simplex.change { state -> Int64 in
            let id = state.history.newest + 1
            state.history.append(ScriptedMessage(id: id, contact: 1, name: "silent.jpg"))
            return id
        }
        #expect(try await eventually { try await ids(core).first == id })
        await core.shutDown()
    }
}
