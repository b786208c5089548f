import Base
import CLinux
import Glibc

/// A program started by this process. It never outlives it: the kernel kills it when this process ends, and the last
/// reference to this object kills and reaps it.
public final class ChildProcess: Sendable {
    /// A standard stream of the child.
    public enum Stream: Sendable {
        case inherited, null, pipe
        case file(OpenFile)
    }

    /// The start options of a child.
    public struct Settings: Sendable {
        /// A path; the search path is not used.
        public var executable: String
        /// Without the program's own name.
        public var arguments: [String]
        /// Changes of the environment; nil removes a variable.
        public var environment: [String: String?] = [:]
        public var folder: String?
        public var input = Stream.null
        public var output = Stream.inherited
        public var errors = Stream.inherited
        /// If true, Ctrl-C on the terminal does not reach it.
        public var ownGroup = false
        /// The signal that it gets when this process ends.
        public var parentDeathSignal = SIGKILL
        /// The initially ignored signals, as with `nohup`.
        public var ignoredSignals: [Int32] = []
        /// The initially blocked signals.
        public var blockedSignals: [Int32] = []
        public var confinement: Confinement?

        public init(_ executable: String, _ arguments: [String] = []) {
            self.executable = executable
            self.arguments = arguments
        }

        /// Starts this program again as a process that uses its standard input and output, without a folder, messages
        /// or terminal signals.
        /// - Parameter word: Its first argument, which selects its task.
        public static func conversing(_ word: String) -> Settings {
            var settings = Settings("/proc/self/exe", [word])
            settings.environment = ["SWIFT_BACKTRACE": "enable=no"]
            settings.folder = "/"
            settings.input = .pipe
            settings.output = .pipe
            settings.errors = .null
            settings.ownGroup = true
            return settings
        }
    }

    /// The result of the process.
    public enum Ending: Hashable, Sendable {
        case code(Int32)
        case signal(Int32)
    }

    public let identifier: pid_t
    public let leadsGroup: Bool
    /// The parent's end of the pipe to standard input, if `input` is a pipe.
    public let input: OpenFile?
    /// The parent's ends of the pipes from standard output and standard error.
    public let output: OpenFile?
    public let errors: OpenFile?
    private let ending = Lock<Ending?>(nil, rank: .innermost)

    // The kernel sends the death signal when the starting *thread* ends, so one permanent thread starts all children.
    private static let starter = ThreadPool(name: "child-start", threads: 1)

    /// Creates the starting thread now, with the permissions of this thread.
    static func prepareStarting() { _ = starter }

    /// Runs `body` on the starting thread, for libraries that start programs. Blocks.
    public static func onStartingThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) -> Result
    {
        let result = Monitor<Result?>(nil)
        starter.submit {
            let value = body()
            result.change { $0 = value }
        }
        return result.wait { $0 }
    }

    /// Starts the program.
    /// - Throws: The errno of execve(2), ENOENT for a missing program; errors of the preparation.
    public static func start(_ settings: Settings) async throws(SystemError) -> ChildProcess {
        try await starter.run { () throws(SystemError) in try ChildProcess(settings) }
    }

    /// The same for a thread that may block.
    /// - Throws: As `start`.
    public static func startBlocking(_ settings: Settings) throws(SystemError) -> ChildProcess {
        try onStartingThread { () -> Result<ChildProcess, SystemError> in
            do throws(SystemError) {
                return .success(try ChildProcess(settings))
            } catch {
                return .failure(error)
            }
        }.get()
    }

    private init(_ settings: Settings) throws(SystemError) {
        let input = try Ends(settings.input, inherited: STDIN_FILENO, childReads: true)
        let output = try Ends(settings.output, inherited: STDOUT_FILENO, childReads: false)
        let errors = try Ends(settings.errors, inherited: STDERR_FILENO, childReads: false)
        identifier = try Self.spawn(
            settings, streams: (input.childDescriptor, output.childDescriptor, errors.childDescriptor))
        leadsGroup = settings.ownGroup
        self.input = input.parent
        self.output = output.parent
        self.errors = errors.parent
    }

    deinit {
        guard ending.withLock({ $0 }) == nil else { return }
        kill(identifier, SIGKILL)
        _ = try? check("reap a child process") { waitpid(identifier, nil, 0) }
    }

    /// Sends a signal. Does nothing if the process has ended.
    public func send(_ signal: Int32) {
        ending.withLock { if $0 == nil { kill(identifier, signal) } }
    }

    /// Sends a signal to the process group that the child leads, as a terminal does.
    public func sendToGroup(_ signal: Int32) {
        precondition(leadsGroup, "the group would be our own")
        ending.withLock { if $0 == nil { kill(-identifier, signal) } }
    }

    /// Returns the result, or nil while it runs. Does not block.
    public func endingIfEnded() -> Ending? {
        ending.withLock { ending in
            if ending == nil {
                var status: Int32 = 0
                if waitpid(identifier, &status, WNOHANG) == identifier {
                    ending =
                        chatfs_exited(status) != 0
                        ? .code(chatfs_exit_code(status)) : .signal(chatfs_terminating_signal(status))
                }
            }
            return ending
        }
    }

    /// Waits for the end without blocking a thread for long. Returns nil if it still runs after `limit`.
    public func ending(within limit: Duration) async -> Ending? {
        let start = ContinuousClock.now
        while true {
            if let ending = endingIfEnded() { return ending }
            let waited = start.duration(to: .now)
            if waited >= limit { return nil }
            // Frequent at first, so that short waits stay short.
            try? await Task.sleep(for: waited < .milliseconds(500) ? .milliseconds(1) : .milliseconds(5))
        }
    }

    private static func spawn(
        _ settings: Settings, streams: (Int32, Int32, Int32)
    ) throws(SystemError) -> pid_t {
        let arguments = CStrings([settings.executable] + settings.arguments)
        let environment = CStrings(Self.environment(changed: settings.environment))
        let bits: ([Int32]) -> UInt = { $0.reduce(0) { $0 | 1 << UInt($1 - 1) } }
        var what = chatfs_spawn()
        what.arguments = UnsafePointer(arguments.pointers)
        what.environment = UnsafePointer(environment.pointers)
        what.streams = streams
        what.own_group = settings.ownGroup ? 1 : 0
        what.parent_death_signal = settings.parentDeathSignal
        what.ignored = bits(settings.ignoredSignals)
        what.blocked = bits(settings.blockedSignals)
        what.max_memory = settings.confinement?.maxMemory ?? 0
        what.max_seconds = settings.confinement?.maxSeconds ?? 0
        let readable = CStrings(
            settings.confinement == nil ? [] : ReadableFiles.paths(for: settings.executable))
        what.readable = UnsafeRawPointer(readable.pointers).assumingMemoryBound(
            to: UnsafePointer<CChar>?.self)
        let folder = settings.folder.map { CStrings([$0]) }
        what.folder = folder.flatMap { UnsafePointer($0.pointers[0]) }
        what.path = UnsafePointer(arguments.pointers[0])
        defer { withExtendedLifetime((arguments, environment, folder, readable)) {} }
        return try check("start \(settings.executable.lastPathName ?? "a program")") {
            chatfs_spawn(&what)
        }
    }

    private static func environment(changed changes: [String: String?]) -> [String] {
        var result: [String] = []
        var entry = environ
        while let text = entry.pointee {
            let line = String(cString: text)
            let name = String(line.prefix { $0 != "=" })
            if changes[name] == nil { result.append(line) }
            entry += 1
        }
        for (name, value) in changes { if let value { result.append("\(name)=\(value)") } }
        return result
    }
}

/// The two ends of a standard stream during a start.
private struct Ends {
    let parent: OpenFile?
    let child: OpenFile?
    let childDescriptor: Int32

    init(_ stream: ChildProcess.Stream, inherited: Int32, childReads: Bool) throws(SystemError) {
        switch stream {
        case .inherited:
            parent = nil
            child = nil
            childDescriptor = inherited
        case .file(let file):
            parent = nil
            child = file
            childDescriptor = file.descriptor
        case .null:
            let null = try OpenFile("/dev/null", flags: O_RDWR)
            parent = nil
            child = null
            childDescriptor = null.descriptor
        case .pipe:
            var ends: [Int32] = [0, 0]
            try check("make a pipe") { chatfs_pipe(&ends) }
            let (read, write) = (OpenFile(adopting: ends[0]), OpenFile(adopting: ends[1]))
            parent = childReads ? write : read
            let own = childReads ? read : write
            child = own
            childDescriptor = own.descriptor
        }
    }
}

/// An array of C strings that ends with a null pointer. Freed with the object.
private final class CStrings {
    let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    private let count: Int

    init(_ strings: [String]) {
        count = strings.count
        pointers = .allocate(capacity: count + 1)
        for (index, string) in strings.enumerated() { pointers[index] = strdup(string) }
        pointers[count] = nil
    }

    deinit {
        for index in 0..<count { free(pointers[index]) }
        pointers.deallocate()
    }
}
