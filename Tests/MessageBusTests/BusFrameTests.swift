import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import MessageBus

@Suite("Bus frames")
struct BusFrameTests {
    @Test("numbers and texts round-trip in order")
    func fields() {
        var rest =
            (BusFrame.bytes(0) + BusFrame.bytes(.max) + BusFrame.bytes("ü") + BusFrame.bytes("") + [9])[...]
        #expect(BusFrame.number(&rest) == 0 && BusFrame.number(&rest) == .max)
        #expect(BusFrame.text(&rest) == "ü" && BusFrame.text(&rest) == "")
        #expect(BusFrame.text(&rest) == nil && BusFrame.number(&rest) == nil && rest == [9])
        // A NUL inside a text is removed.
        var text = BusFrame.bytes("a\u{0}b")[...]
        #expect(BusFrame.text(&text) == "ab" && text.isEmpty)
        for length in 0..<8 {
            var short = BusFrame.bytes(UInt64.max).prefix(length)
            #expect(BusFrame.number(&short) == nil && short.count == length)
        }
    }

    @Test("the longest frame fits into a pipe")
    func lengths() throws {
        let most = BusFrame.maxLength - 4
        for length in [1, 255, 256, most - 1, most] {
            let bytes = [UInt8](repeating: 3, count: length)
            var frames = BusFrames()
            frames.add(try #require(BusFrame.framed(bytes)))
            #expect(frames.next() == bytes && frames.next() == nil)
        }
        #expect(BusFrame.framed([UInt8](repeating: 3, count: most + 1)) == nil)
        for length in [0, UInt32(most + 1), .max] {
            var frames = BusFrames()
            frames.add(withUnsafeBytes(of: length) { Array($0) } + [1, 2, 3])
            #expect(frames.next() == [], "the rest is invalid")
        }
    }

    @Test("partial frames wait for the rest")
    func cuts() throws {
        let stream = try [[1], [2, 3, 4], [5]].flatMap { try #require(BusFrame.framed($0)) }
        for cut in 0...stream.count {
            var frames = BusFrames()
            var heard: [[UInt8]] = []
            for piece in [stream[..<cut], stream[cut...]] {
                frames.add(piece)
                while let frame = frames.next() { heard.append(frame) }
            }
            #expect(heard == [[1], [2, 3, 4], [5]])
        }
    }

    @Test("notices round-trip and reject other bytes")
    func notices() {
        for notice in [SystemNotice.metered(false), .metered(true), .sleeping, .awake, .sessionLocked] {
            #expect(SystemNotice(encoded: notice.encoded) == notice)
            #expect(SystemNotice(encoded: notice.encoded + [0]) == nil || notice == .metered(false))
        }
        for bytes in [[], [0], [0, 2], [1, 0], [2, 0], [3, 0], [4], [0, 0, 0]] as [[UInt8]] {
            #expect(SystemNotice(encoded: bytes) == nil)
        }
    }

    @Test("bus addresses come from environment or default")
    func addresses() async throws {
        let folder = try TemporaryFolder()
        try folder.write([], to: "bus")
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/own", 1)
            precondition(BusAddress.session(runtimeFolder: path) == "unix:path=/own")
            setenv("DBUS_SESSION_BUS_ADDRESS", "", 1)
            precondition(BusAddress.session(runtimeFolder: path) == "unix:path=\(path)/bus")
            unsetenv("DBUS_SESSION_BUS_ADDRESS")
            precondition(BusAddress.session(runtimeFolder: path) == "unix:path=\(path)/bus")
            precondition(BusAddress.session(runtimeFolder: path + "/none") == nil)
            precondition(BusAddress.session(runtimeFolder: nil) == nil)
            chdir(path)
            precondition(BusAddress.session(runtimeFolder: ".") == nil)
            setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/system", 1)
            precondition(BusAddress.system() == "unix:path=/system")
        }
    }
}

/// The parent's side, with faulty programs instead of the child process.
@Suite("Faulty bus processes", .timeLimit(.minutes(10)))
struct BusChildTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func child(_ script: String) async throws -> BusChild {
        let path = try folder.write(Array("#!/bin/sh\n\(script)\n".utf8), to: "program")
        chmod(path, 0o700)
        return try await ThreadPool.shared.run { () throws(SystemError) in
            try BusChild("word", of: path, environment: ["BUS": "here"])
        }
    }

    /// Returns all frames until the child ends.
    private func heard(_ child: BusChild) async throws -> [BusChild.Received] {
        var heard: [BusChild.Received] = []
        try await wait(until: "it has ended") {
            while true {
                switch child.receive() {
                case .nothing: return false
                case .frame(let bytes): heard.append(.frame(bytes))
                case .ended: return true
                }
            }
        }
        #expect(child.receive() == .ended, "it stays so")
        return heard
    }

    /// A shell command that prints the bytes.
    private func print(_ bytes: [UInt8]) -> String {
        "printf '" + bytes.map { "\\" + String($0, radix: 8) }.joined() + "'"
    }

    @Test("word, bus address and all frames are passed")
    func whole() async throws {
        let frame = try #require(BusFrame.framed([1, 2, 3]))
        let child = try await child("[ \"$1 $BUS\" = 'word here' ] && \(print(frame)) && \(print(frame))")
        #expect(try await heard(child) == [.frame([1, 2, 3]), .frame([1, 2, 3])])
    }

    @Test("a partial last frame is dropped")
    func cut() async throws {
        let frame = try #require(BusFrame.framed([1, 2, 3]))
        for length in [0, 1, 4, frame.count - 1] {
            let child = try await child("\(print(frame)); \(print(Array(frame.prefix(length)))); kill -9 $$")
            #expect(try await heard(child) == [.frame([1, 2, 3])])
        }
    }

    @Test("an invalid frame ends the conversation")
    func nonsense() async throws {
        let frame = try #require(BusFrame.framed([1]))
        let child = try await child(
            "\(print(frame)); \(print([255, 255, 255, 255])); \(print(frame)); sleep 100")
        var answers: [BusChild.Received] = []
        try await wait(until: "the frame is invalid") {
            answers.append(child.receive())
            return answers.last == .ended
        }
        #expect(answers.filter { $0 != .nothing } == [.frame([1]), .ended])
    }

    @Test("sending never blocks")
    func deaf() async throws {
        let child = try await child("sleep 100")
        var taken = 0
        let bytes = [UInt8](repeating: 1, count: 4000)
        while child.send(bytes) { taken += 1 }
        #expect(taken > 0 && taken < 1000)
        #expect(!child.send([UInt8](repeating: 1, count: BusFrame.maxLength)), "longer than a frame may be")
        let gone = try await self.child("exit 0")
        _ = try await heard(gone)
        try await wait(until: "the reader has gone") { !gone.send([1]) }
    }

    @Test("sent frames arrive unchanged")
    func echo() async throws {
        let child = try await child("exec cat")
        for number in UInt8(1)...20 { #expect(child.send([number, 0, number])) }
        var heard: [BusChild.Received] = []
        try await wait(until: "all has come back") {
            while case let received = child.receive(), received != .nothing { heard.append(received) }
            return heard.count == 20
        }
        #expect(heard == (UInt8(1)...20).map { .frame([$0, 0, $0]) })
    }

    @Test("a missing program is an error")
    func missing() async {
        await #expect(throws: SystemError.self) {
            try await ThreadPool.shared.run { [path = folder.path("none")] in
                _ = try BusChild("word", of: path)
            }
        }
    }
}
