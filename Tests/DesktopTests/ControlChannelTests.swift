import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Desktop

/// A channel whose peer sends arbitrary bytes.
@Suite("Control channels", .timeLimit(.minutes(10)))
struct ControlChannelTests {
    private struct Pair {
        let channel: ControlChannel
        let peer: OpenFile

        init(timeout: Duration = .seconds(30)) throws {
            var ends: [Int32] = [0, 0]
            try check("make sockets") {
                socketpair(
                    AF_UNIX,
                    Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends)
            }
            channel = ControlChannel(OpenFile(adopting: ends[0]), timeout: timeout)
            peer = OpenFile(adopting: ends[1])
        }

        func say(_ text: String) { say(Array(text.utf8)) }
        func say(_ bytes: [UInt8]) { _ = send(peer.descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
        func hangUp() { shutdown(peer.descriptor, Int32(SHUT_RDWR)) }

        func line() throws -> String { String(decoding: try channel.readLine(), as: UTF8.self) }
    }

    private func code(_ body: () throws(DesktopError) -> Void) -> DesktopErrorCode? {
        do throws(DesktopError) {
            try body()
            return nil
        } catch { return error.code }
    }

    @Test("lines are reassembled from any pieces")
    func cuts() async throws {
        let text = Array("one\n\ntwo ü\nthree\n".utf8)
        for cut in 0...text.count {
            let pair = try Pair()
            pair.say(Array(text[..<cut]))
            // The rest arrives during the wait for the first line.
            let lines = Task {
                try await ThreadPool.shared.run { try (0..<4).map { _ in try pair.line() } }
            }
            pair.say(Array(text[cut...]))
            #expect(try await lines.value == ["one", "", "two ü", "three"])
        }
    }

    @Test("a line without its end is dropped")
    func cutOff() throws {
        let text = Array("{\"a\":1}\n".utf8)
        for length in 0..<text.count {
            let pair = try Pair()
            pair.say("whole\n")
            pair.say(Array(text.prefix(length)))
            pair.hangUp()
            #expect(try pair.line() == "whole")
            let error = #expect(throws: DesktopError.self) { try pair.line() }
            #expect(error?.code == .noAnswer && error?.sentence == DesktopError.hungUp.sentence)
        }
    }

    @Test("the maximum line length is exact")
    func longest() async throws {
        for (length, isLine) in [(-1, true), (0, false), (1, false)] {
            let pair = try Pair()
            let bytes = [UInt8](repeating: 120, count: ControlChannel.maxLineLength + length) + [10]
            let writer = ControlChannel(
                OpenFile(adopting: dup(pair.peer.descriptor)), timeout: .seconds(30))
            async let written: Void = ThreadPool.shared.run {
                try? bytes.withUnsafeBufferPointer { try writer.write(UnsafeRawBufferPointer($0)) }
            }
            let answer = await ThreadPool.shared.run {
                Result { () throws(DesktopError) in try pair.channel.readLine().count }
            }
            // Unblocks a writing peer.
            _ = try? pair.peer.status()
            shutdown(pair.peer.descriptor, Int32(SHUT_RDWR))
            await written
            switch answer {
            case .success(let count): #expect(isLine && count == bytes.count - 1)
            case .failure(let error): #expect(!isLine && error.code == .malformed)
            }
        }
    }

    @Test("too long lines are not sent")
    func tooLong() throws {
        let pair = try Pair()
        // With quotes and the newline.
        let text = String(repeating: "x", count: ControlChannel.maxLineLength - 2)
        let error = #expect(throws: DesktopError.self) { try pair.channel.send([text]) }
        #expect(error?.code == .refused)
        #expect(error?.sentence == "This is too long for the mount's process.")
        #expect(!pair.channel.isAbandoned)
    }

    @Test("long lines wait for a slow reader")
    func slowReader() async throws {
        let pair = try Pair()
        let line = (0..<900_000).map { UInt8(97 + $0 % 26) }
        async let written: Void = ThreadPool.shared.run {
            try? pair.channel.writeLine(line)
        }
        let reader = ControlChannel(OpenFile(adopting: dup(pair.peer.descriptor)), timeout: .seconds(30))
        let read = try await ThreadPool.shared.run { () throws(DesktopError) in try reader.readLine() }
        await written
        #expect(read == line)
    }

    @Test("timeouts and hang-ups are distinguished")
    func silent() throws {
        let pair = try Pair(timeout: .zero)
        #expect(code { () throws(DesktopError) in _ = try pair.channel.readLine() } == .noAnswer)
        pair.say("half")
        let error = #expect(throws: DesktopError.self) { try pair.line() }
        #expect(error?.sentence == "The mount's process does not answer; try again.")
        let full = #expect(throws: DesktopError.self) {
            while true { try pair.channel.writeLine([UInt8](repeating: 1, count: 100_000)) }
        }
        #expect(full?.sentence == "The mount's process does not answer; try again.")
        pair.hangUp()
        let gone = #expect(throws: DesktopError.self) {
            while true { try pair.channel.writeLine([1]) }
        }
        #expect(gone?.sentence == "The mount's process ended the conversation; try again.")
    }

    @Test("polling takes no line")
    func looks() throws {
        let pair = try Pair()
        #expect(!pair.channel.isAbandoned && !pair.channel.hasLine(within: .zero))
        pair.say("one\ntwo\n")
        #expect(pair.channel.hasLine(within: .seconds(30)))
        #expect(try pair.line() == "one")
        // The second line is buffered, although the socket is empty.
        #expect(pair.channel.hasLine(within: .zero))
        let wakeUp = try WakeUp()
        #expect(pair.channel.waitForLine(beside: wakeUp.descriptor) == (true, false))
        #expect(try pair.line() == "two")
        wakeUp.notify()
        #expect(pair.channel.waitForLine(beside: wakeUp.descriptor) == (false, true))
        pair.say("x")
        #expect(pair.channel.waitForLine(beside: wakeUp.descriptor) == (true, true))
        wakeUp.clear()
        pair.hangUp()
        #expect(pair.channel.isAbandoned && pair.channel.waitForLine(beside: nil) == (true, false))
        #expect(pair.channel.isAbandoned(within: .seconds(30)))
    }

    @Test("a malformed line does not affect the next")
    func noMessage() throws {
        let pair = try Pair()
        for text in ["", "x", "[]", "{", "{\"action\":1}", "\u{0}", "null"] {
            pair.say(text + "\n")
            #expect(
                code { () throws(DesktopError) in _ = try pair.channel.receive(CacheRequest.self) }
                    == .malformed)
        }
        pair.say("{\"action\":\"clear\"}\n")
        #expect(try pair.channel.receive(CacheRequest.self) == CacheRequest(.clear))
    }
}
