import Base
import CommandLineKit
import Glibc
import Posix

/// `chatfs manual`: prints the manual page, generated from the command table.
enum ManualCommand {
    static let command = Command(
        "manual", "Print the manual page in the format of man(1).", section: CommandSection.other,
        options: [folder], examples: [Example("chatfs manual | man -l -", "Read the manual.")]
    ) { invocation in
        guard let path = invocation[folder] else {
            let page = ManualPage.text(
                for: invocation.program, version: Release.version, files: ManualTexts.files,
                environment: ManualTexts.environment)
            return Terminal.write(page, to: STDOUT_FILENO)
        }
        for (name, page) in pages(of: invocation.program) {
            try await ThreadPool.shared.run { () throws(SystemError) in
                let file = try OpenFile(path + "/" + name, flags: O_WRONLY | O_CREAT | O_TRUNC, mode: 0o644)
                try file.write(Array(page.utf8), at: 0)
            }
        }
    }

    private static let folder = Option(
        "folder", named: "DIR", .folder,
        "Write an overview and a page for each command into this folder, for packages.")

    /// Returns the packages' pages by file name.
    static func pages(of program: Command) -> [(name: String, page: String)] {
        let overview = ManualPage.overview(
            of: program, version: Release.version, files: ManualTexts.files,
            environment: ManualTexts.environment)
        return [(program.name + ".1", overview)]
            + program.subcommands.filter { !$0.isHidden }.map { command in
                (
                    ManualPage.name(of: command, in: program) + ".1",
                    ManualPage.text(of: command, in: program, version: Release.version)
                )
            }
    }
}
