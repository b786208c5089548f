import Glibc
import TestSupport
import Testing

@testable import Posix

/// The program of a process, seen by another one.
@Suite struct RunningProgramTests {
    @Test func aProgramIsKnownByItsExecutableNotItsLink() async throws {
        let folder = try TemporaryFolder()
        let link = folder.path("another-name")
        try #require(symlink(try Shell.find("sleep"), link) == 0)
        let process = try await RunningProcess.start(ChildProcess.Settings(link, ["600"]))
        #expect(RunningProgram.executable(of: process.processIdentifier)?.hasSuffix("/sleep") == true)
        #expect(RunningProgram.arguments(of: process.processIdentifier) == [link, "600"])
        process.send(SIGKILL)
    }

    @Test func aReplacedProgramKeepsItsName() async throws {
        let folder = try TemporaryFolder()
        let copy = folder.path("sleeper")
        try #require(try await Shell.run("cp", [Shell.find("sleep"), copy]).succeeded)
        let process = try await RunningProcess.start(ChildProcess.Settings(copy, ["600"]))
        unlink(copy)
        #expect(RunningProgram.executable(of: process.processIdentifier) == copy)
        process.send(SIGKILL)
    }

    @Test func aMissingProcessHasNoProgram() {
        for thread in [0, -1, pid_t.max] {
            #expect(RunningProgram.executable(of: thread) == nil)
            #expect(RunningProgram.arguments(of: thread) == nil)
        }
    }

    @Test func wordsEndWithNULAndMayBeEmpty() {
        #expect(RunningProgram.arguments(in: Array("a\0\0b c\0".utf8)) == ["a", "", "b c"])
        #expect(RunningProgram.arguments(in: Array("cut\0of".utf8)) == ["cut", "of"])
        #expect(RunningProgram.arguments(in: []) == [])
        #expect(RunningProgram.arguments(in: [0xFF, 0]) == ["\u{FFFD}"])
    }
}
