import Base
import CommandLineKit
import Desktop
import Glibc
import Posix

/// `chatfs events`: prints the events of a mount as they happen.
enum EventsCommand {
    private static let program = Option(
        "exec", named: "PROGRAM", .file, "Run this program for every file that arrives.")

    static let command = Command(
        "events", "Print the events of a mount, or run a program for each arriving file.",
        discussion: """
            Prints a line for each file that arrives, vanishes or changes its state, until Ctrl-C, until the mount \
            ends, or until the reader of the output closes it. With --verbose a line on standard error tells when \
            listening has begun; later events are not missed.

            With --exec a program runs for every file that arrives, one after the other, without a shell. Its \
            environment has CHATFS_PATH (absolute), CHATFS_NAME, CHATFS_CHAT (the folder), CHATFS_SENDER, CHATFS_SIZE \
            and CHATFS_TYPE. Reading the file receives it. A signal that ends this command is passed on to a running \
            program, which is killed after five seconds.
            """,
        section: CommandSection.daily, arguments: [CommonOptions.mountpoint],
        options: [program, ProgramConnection.json, CommonOptions.mount],
        examples: [
            Example("chatfs events --exec ~/bin/print-it", "Run a script for each arriving file.")
        ],
        waitsForStop: true
    ) { invocation in
        if let program = invocation[program] { try checkProgram(program) }
        let mounted = try await Mounted.chosen(by: invocation)
        let client = try await ProgramConnection.client(of: mounted)
        let (stop, program) = (invocation.stop, invocation[program])
        let isForPrograms = invocation[ProgramConnection.json]
        // With a program, the command continues without a reader.
        let isEnded: @Sendable () -> Bool = {
            stop.isRequested || program == nil && Terminal.hasLostItsReader
        }
        let arrivals = Arrivals(program: program, mountpoint: mounted.mountpoint)
        try await ThreadPool.shared.run { try client.subscribe() }
        // Events from here on are reported; scripts may wait for this line.
        if Terminal.verbosity >= .verbose { Terminal.complain("chatfs: listening") }
        while true {
            let event: ProgramEvent?
            do {
                // The command's pool is idle otherwise, so no thread of its own is needed.
                event = try await ThreadPool.shared.run {
                    try client.nextEvent(unless: isEnded)
                }
            } catch let error as DesktopError where error.code == .noAnswer {
                Terminal.note("chatfs: the mount at \(mounted.mountpoint) has ended")
                return
            }
            guard let event else {
                if !stop.isRequested { return }
                throw ExitCode(128 + (await stop.wait()))
            }
            let text = isForPrograms ? try ProgramConnection.json(event) : line(event)
            if program == nil {
                try Terminal.show(text)
            } else if isForPrograms {
                Terminal.print(text)
            }
            await arrivals.handle(event, until: stop)
        }
    }

    /// Checks the program at once rather than at the first arrival.
    private static func checkProgram(_ program: String) throws {
        var status = stat()
        try naming(program) {
            _ = try check("find it") { stat(program, &status) }
            guard status.st_mode & S_IFMT == S_IFREG else { throw Refusal("It is not a program.") }
            _ = try check("run it") { access(program, X_OK) }
        }
    }

    private static func line(_ event: ProgramEvent) -> String {
        let words =
            switch event.event {
            case .itemAppeared: "new        \(event.item.map { ProgramConnection.line($0) } ?? "")"
            case .itemChanged: "changed    \(event.item.map { ProgramConnection.line($0) } ?? "")"
            case .vanished: "gone       \(event.path ?? "")"
            case .chatAppeared: "new chat   \(event.chat?.folder ?? "")"
            case .chatChanged: "chat       \(event.chat?.folder ?? "")"
            case .expiring: "expiring   \(event.item.map { ProgramConnection.line($0) } ?? "")"
            case .coreUnreachable: "offline    \(event.message ?? "")"
            case .coreReachable: "online"
            case .suspended: "suspended"
            case .resumed: "resumed"
            case .statusChanged: "status"
            case .missed: "missed     Some events were dropped: 'chatfs ls' shows the present state."
            }
        return PrintableText.escaping(words)
    }

    /// Runs the program of `--exec`.
    struct Arrivals: Sendable {
        let program: String?
        let mountpoint: String
        /// Maximum time for the program to end after the stop signal.
        var grace = Duration.seconds(5)

        private static func words(_ ending: ChildProcess.Ending) -> String {
            switch ending {
            case .code(let code): "exited with status \(code)"
            case .signal(let number): "was ended by signal \(number) (\(String(cString: strsignal(number))))"
            }
        }

        /// Runs the program and returns when it has ended, or after the stop request.
        func handle(_ event: ProgramEvent, until stop: StopRequest) async {
            guard let program, event.event == .itemAppeared, let item = event.item,
                item.direction == "received"
            else { return }
            var settings = ChildProcess.Settings(program)
            settings.environment = [
                "CHATFS_PATH": "\(mountpoint)/\(item.path)", "CHATFS_NAME": item.name,
                "CHATFS_CHAT": item.path.pathNames.first ?? "",
                "CHATFS_SENDER": item.sender ?? "", "CHATFS_SIZE": "\(item.size)",
                "CHATFS_TYPE": item.type ?? "",
            ]
            do throws(SystemError) {
                let child = try await ChildProcess.start(settings)
                while !stop.isRequested {
                    guard let ending = await child.ending(within: .seconds(1)) else { continue }
                    if ending != .code(0) { Terminal.complain("chatfs: \(program) \(Self.words(ending))") }
                    return
                }
                let signal = await stop.wait()
                // The terminal already sent the signal to the program.
                let isTyped = [SIGINT, SIGQUIT].contains(signal) && tcgetpgrp(STDIN_FILENO) == getpgrp()
                if !isTyped { child.send(signal) }
                _ = await child.ending(within: grace)
            } catch {
                Terminal.complain("chatfs: \(program): \(error.sentence)")
            }
        }
    }
}
