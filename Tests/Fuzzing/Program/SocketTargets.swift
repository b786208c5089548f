import Base
import Glibc
import Posix

@testable import Desktop
@testable import Network

extension Target {
    /// Input of plain sockets.
    static let sockets = [
        Target("websocket", "frames of a WebSocket", longest: 1024) { bytes in
            var input = Input(bytes)
            let pieces = Int(input.byte()) + 1
            let frames = input.rest()
            let (whole, failure) = read(frames, pieces: frames.count)
            let (parts, other) = read(frames, pieces: pieces)
            hold(whole == parts && failure == other, "it does not matter in which pieces frames come")
            for case .data(let message) in whole {
                hold(message.count <= longestMessage, "a message is not too long")
            }
            let frame = WebSocketFrame.masked(WebSocketFrame.text, bytes, mask: [1, 2, 3, 4])
            hold(frame.count <= bytes.count + 14, "a frame is a little longer than its message")
        },
        Target("websocket-handshake", "the beginning of a WebSocket", longest: 1024) { bytes in
            var input = Input(bytes)
            let cut = Int(input.byte()) << 2
            let answer = input.rest()
            let handshake = WebSocketHandshake(random: [UInt8](repeating: 7, count: 16))
            let whole = Result { () throws(NetworkError) in try handshake.check(answer) }
            if case .success(let end?) = whole { hold(end <= answer.count, "an answer ends where it is") }
            // The first bytes decide as soon as possible and permanently.
            switch Result(catching: { () throws(NetworkError) in
                try handshake.check(Array(answer.prefix(cut)))
            }) {
            case .failure: hold((try? whole.get()) == nil, "what was refused in part is refused as a whole")
            case .success(let end?): hold((try? whole.get()) == end, "what was taken in part stays taken")
            case .success(nil): break
            }
        },
        Target("socks", "answers of a SOCKS proxy", longest: 600) { bytes in
            var input = Input(bytes)
            let hosts = ["example.org", "192.0.2.1", "2001:db8::1", String(repeating: "a", count: 300)]
            let host = hosts[input.number(below: hosts.count)]
            let answer = input.rest()
            let (near, far) = SocketPair.make()
            let socket = Socket(adopting: near)
            defer { close(far) }
            SocketPair.say(answer, at: far)
            guard
                (try? SOCKSProxy(Endpoint(host: "127.0.0.1", port: 1)).connect(
                    socket, to: Endpoint(host: host, port: 443), deadline: Deadline(after: .seconds(5)),
                    stop: SocketPair.stop)) != nil
            else { return }
            var rest = [UInt8](repeating: 0, count: 1024)
            let count = max(0, recv(near, &rest, rest.count, 0))
            hold(Array(rest.prefix(count)) == answer.suffix(count), "nothing beyond the answer is taken")
            hold(answer.count - count >= 9, "an answer was there")
        },
        Target("control-channel", "lines on the control socket", longest: 2048) { bytes in
            let (near, far) = SocketPair.make()
            defer { close(far) }
            SocketPair.say(bytes, at: far)
            let channel = ControlChannel(OpenFile(adopting: near), timeout: .seconds(5))
            var lines: [[UInt8]] = []
            while let line = try? channel.readLine() { lines.append(line) }
            let parts = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            hold(lines == parts.dropLast().map { Array($0) }, "lines come as they were sent")
        },
    ]

    private static let longestMessage = 300

    private static func read(
        _ bytes: [UInt8], pieces: Int
    ) -> (messages: [WebSocketReader.Message], failure: NetworkErrorCode?) {
        var reader = WebSocketReader(limit: longestMessage)
        var messages: [WebSocketReader.Message] = []
        do {
            try bytes.inPieces(of: pieces) { piece in try reader.read(piece) { messages.append($0) } }
            return (messages, nil)
        } catch {
            return (messages, (error as? NetworkError)?.code)
        }
    }
}

/// Two connected non-blocking sockets.
private enum SocketPair {
    static let stop: WakeUp = {
        guard let stop = try? WakeUp() else { fatalError("no descriptor is left") }
        return stop
    }()

    static func make() -> (near: Int32, far: Int32) {
        var pair: [Int32] = [0, 0]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        hold(socketpair(AF_UNIX, type, 0, &pair) == 0, "sockets can be made")
        return (pair[0], pair[1])
    }

    /// Everything at once, and nothing more.
    static func say(_ bytes: [UInt8], at socket: Int32) {
        _ = bytes.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        shutdown(socket, Int32(SHUT_WR))
    }
}
