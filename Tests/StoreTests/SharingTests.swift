import Base
import Glibc
import Posix
import Store
import TestSupport
import Testing

@Suite struct SharingTests {
    let folder = ScratchFolder()

    @Test func newDatabaseCanBeOpenedConcurrently() async throws {
        let folder = folder
        let path = folder.path + "/notes.db"
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    try await ThreadPool.shared.run {
                        let database = try Database(path: path, migrations: [notes])
                        try database.transaction {
                            _ = try $0.execute("INSERT INTO folder (name) VALUES (?)", "\(number)")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try folder.database().count("folder") == 8)
    }

    @Test func connectionsSeeOnlyCommits() throws {
        let first = try folder.database()
        let second = try folder.database()
        try first.transaction { connection in
            try connection.execute("INSERT INTO folder (name) VALUES ('a')")
            #expect(try onOtherThread { try second.count("folder") } == 0)
        }
        #expect(try second.count("folder") == 1)
    }

    @Test func longWaitForTheWriteLockIsBusy() throws {
        let first = try folder.database()
        let second = try folder.database(busyTimeout: .zero)
        try first.transaction { connection in
            try connection.execute("INSERT INTO folder (name) VALUES ('a')")
            let error = #expect(throws: StoreError.self) {
                try onOtherThread {
                    try second.transaction { _ = try $0.execute("INSERT INTO folder (name) VALUES ('b')") }
                }
            }
            #expect(error?.code == .busy)
        }
        try second.transaction { try $0.execute("INSERT INTO folder (name) VALUES ('b')") }
        #expect(try first.count("folder") == 2)
    }

    @Test func killedProcessLeavesOnlyCommits() throws {
        let database = try folder.database()
        // Python's sqlite3 as the other process: it commits one row, starts a second and waits.
        var input: [Int32] = [0, 0]
        var output: [Int32] = [0, 0]
        try #require(pipe(&input) == 0 && pipe(&output) == 0)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input[0], 0)
        posix_spawn_file_actions_adddup2(&actions, output[1], 1)
        for descriptor in input + output { posix_spawn_file_actions_addclose(&actions, descriptor) }
        var child = pid_t()
        let python = """
            import sqlite3, sys
            c = sqlite3.connect(sys.argv[1], isolation_level=None)
            c.execute("INSERT INTO folder (name) VALUES ('kept')")
            c.execute("BEGIN IMMEDIATE")
            c.execute("INSERT INTO folder (name) VALUES ('lost')")
            sys.stdout.write("x"); sys.stdout.flush(); sys.stdin.read()
            """
        let words = ["python3", "-c", python, folder.path + "/notes.db"]
        let arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        try #require(posix_spawnp(&child, "python3", &actions, nil, arguments, environ) == 0)
        close(input[0])
        close(output[1])
        defer {
            close(input[1])
            close(output[0])
        }
        var ready = [pollfd(fd: output[0], events: Int16(POLLIN), revents: 0)]
        #expect(poll(&ready, milliseconds: 20_000) == 1)
        #expect(try database.count("folder") == 1)
        kill(child, SIGKILL)
        var status: Int32 = 0
        #expect(waitpid(child, &status, 0) == child)
        try database.transaction { try $0.execute("INSERT INTO folder (name) VALUES ('next')") }
        let names = try database.read {
            try $0.query("SELECT name FROM folder ORDER BY id") { $0.text("name") }
        }
        #expect(names == ["kept", "next"])
    }
}
