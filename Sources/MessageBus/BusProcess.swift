import CLinux
import Glibc
import Posix

/// The task of a child process on a bus (`BusChild` is the parent's side): handles requests and bus messages and sends
/// frames. One thread.
public protocol BusConversation {
    /// Called once when the bus has accepted the connection.
    mutating func begin()
    /// Handles a request.
    /// - Returns: False for an invalid request, which ends the process.
    mutating func take(_ request: [UInt8]) -> Bool
    /// Handles a message. The caller releases it.
    /// - Returns: False if the parent no longer reads.
    mutating func hear(_ message: BusLibrary.Message) -> Bool
}

/// Runs such a process until the bus or the parent ends.
public enum BusProcess {
    /// Never returns. Without a bus or libdbus, the process ends at once.
    ///
    /// - Parameter make: Creates the task from the library and its connection.
    public static func main<Conversation: BusConversation>(
        on bus: BusLibrary.Bus, _ make: (BusLibrary, BusLibrary.Connection) -> Conversation
    ) -> Never {
        ProcessHardening.apply()
        _ = chatfs_confine_daemon()
        signal(SIGPIPE, SIG_IGN)
        if let library = BusLibrary(), let connection = library.connect(to: bus),
            let descriptor = library.descriptor(of: connection)
        {
            var conversation = make(library, connection)
            conversation.begin()
            run(&conversation, library, connection, descriptor)
        }
        _exit(0)
    }

    /// Sends a frame to the parent.
    /// - Returns: False if the parent no longer reads.
    public static func say(_ bytes: [UInt8]) -> Bool {
        guard let frame = BusFrame.framed(bytes) else { return true }
        return (try? output.send(frame)) != nil
    }

    private static let input = OpenFile(adopting: STDIN_FILENO)
    private static let output = OpenFile(adopting: STDOUT_FILENO)

    private static func run(
        _ conversation: inout some BusConversation, _ library: BusLibrary,
        _ connection: BusLibrary.Connection, _ descriptor: Int32
    ) {
        var frames = BusFrames()
        while library.exchange(connection) {
            while let message = library.next(connection) {
                let isHeard = conversation.hear(message)
                library.release(message)
                guard isHeard else { return }
            }
            let waitsToWrite = library.hasOutput(connection) ? Int16(POLLOUT) : 0
            var requests = [
                pollfd(fd: input.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: descriptor, events: Int16(POLLIN) | waitsToWrite, revents: 0),
            ]
            poll(&requests, milliseconds: -1)
            guard requests[0].revents == 0 || takeRequests(&conversation, &frames) else { return }
        }
    }

    /// Returns false if the parent has closed the pipe.
    private static func takeRequests(
        _ conversation: inout some BusConversation, _ frames: inout BusFrames
    ) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = read(input.descriptor, &buffer, buffer.count)
        if count < 0 { return errno == EINTR }
        guard count > 0 else { return false }
        frames.add(buffer[..<count])
        while let frame = frames.next() {
            guard !frame.isEmpty, conversation.take(frame) else { return false }
        }
        return true
    }
}
