import Glibc
import Posix
import TestSupport
import Testing

@Suite("Read-only commands and completions")
struct ManagingTests {
    @Test(
        "a read-only command creates no data directory",
        arguments: [
            ["profile", "list"], ["approve"], ["connect", "a", "b"], ["group", "create", "g", "a", "b"],
            ["status"], ["doctor"], ["send", "/etc/os-release", "bob"], ["complete", "chats"],
        ])
    func looking(words: [String]) async throws {
        let folder = try TemporaryFolder()
        let outcome = try await ChatFSProcess.run(words, environment: ["XDG_DATA_HOME": folder.path])
        #expect(access(folder.path + "/chatfs", F_OK) != 0, "\(outcome.output)\(outcome.errors)")
        _ = try folder.makeFolder("chatfs")
        _ = try await ChatFSProcess.run(words, environment: ["XDG_DATA_HOME": folder.path])
        #expect(try folder.names(in: "chatfs").isEmpty, "an empty folder was filled")
    }

    @Test("a relay without storage does not start", arguments: ["0", "1kb", "65535", "64kb"])
    func quota(text: String) async throws {
        let folder = try TemporaryFolder()
        let outcome = try await ChatFSProcess.run(["relay", "--quota", text, "--dir", folder.path + "/relay"])
        #expect(outcome.ending == .code(64))
        #expect(outcome.errors.contains("--quota"))
        #expect(access(folder.path + "/relay", F_OK) != 0)
    }

    @Test("help COMMAND equals COMMAND --help", arguments: [["mount"], ["file", "send"], []])
    func help(words: [String]) async throws {
        let asked = try await ChatFSProcess.run(["help"] + words)
        let option = try await ChatFSProcess.run(words + ["--help"])
        #expect(asked.succeeded && asked.output == option.output)
    }

    @Test("help suggests similar commands")
    func mistypedHelp() async throws {
        let outcome = try await ChatFSProcess.run(["help", "mout"])
        #expect(outcome.ending == .code(64))
        #expect(outcome.errors.contains("did you mean 'mount'?"))
    }

    @Test("bash expands nothing in foreign names")
    func completion() async throws {
        let folder = try TemporaryFolder()
        let data = folder.path + "/chatfs"
        let mark = folder.path + "/expanded"
        let hostile = "bob $(touch \(mark))"
        for name in ["alice", hostile] {
            let made = try await ChatFSProcess.run(["profile", "create", name, "--data", data])
            try #require(made.succeeded, "\(made.errors)")
        }
        let connected = try await ChatFSProcess.run(["connect", "alice", hostile, "--data", data])
        try #require(connected.succeeded, "\(connected.errors)")
        for (line, answer) in [
            ("chatfs mount x --profile al", "alice"), ("chatfs mount x --profile=al", "alice"),
            ("chatfs send x 'bo", hostile.replacing("/", with: "_")),
        ] {
            let outcome = try await Shell.run(
                "bash",
                [
                    "-c",
                    """
                    eval "$("$CHATFS" completion bash)"
                    COMP_WORDBREAKS=' ='; COMP_WORDS=("$CHATFS"); COMP_LINE=$1; COMP_POINT=${#1}
                    _chatfs; printf '%s\\n' "${COMPREPLY[@]}"
                    """, "bash", line,
                ],
                environment: [
                    "CHATFS": ChatFSProcess.path, "XDG_DATA_HOME": folder.path,
                    "CREDENTIALS_DIRECTORY": ChatFSProcess.credentials,
                ])
            #expect(outcome.output == answer + "\n", "\(outcome.errors)")
        }
        #expect(access(mark, F_OK) != 0)
    }
}
