import Base
import CommandLineKit

extension ConfigurationFile {
    /// Sets an option of a mount with a name, and leaves all else in the file as it is. Blocks.
    ///
    /// - Parameters:
    ///   - value: For an option with several values, it is added to them.
    ///   - reader: Knows the option.
    /// - Returns: False if the file has no such mount.
    /// - Throws: `content` if the table is written in a way that cannot be changed safely; then the file is unchanged.
    ///   `syntax`, `storage`, `access`.
    public func set(
        _ option: any OptionDeclaration, to value: String, ofMount name: String,
        checkedBy reader: ConfigurationReader
    ) throws(ConfigurationError) -> Bool {
        // Without a file there may be no folder to lock.
        guard try contents() != nil else { return false }
        var isFound = false
        try change { text throws(ConfigurationError) in
            let changed = try edited(option, to: value, ofMount: name, in: text ?? [], checkedBy: reader)
            isFound = changed != nil
            return changed
        }
        return isFound
    }

    /// Returns the changed text; nil without such a mount.
    private func edited(
        _ option: any OptionDeclaration, to value: String, ofMount name: String, in text: [UInt8],
        checkedBy reader: ConfigurationReader
    ) throws(ConfigurationError) -> [UInt8]? {
        let before = try reader.read(text)
        guard let index = before.mounts.firstIndex(where: { $0.name == name }) else { return nil }
        let mount = before.mounts[index]
        // A list of the mount replaces the one of all mounts.
        let present = option.repeats ? before.options(of: mount)[option.name] ?? [] : []
        let values = present.contains(value) ? present : present + [value]
        var edit = TOMLTableEdit(text)
        let words = values.map(TOMLText.string)
        let isSet = edit.set(
            option.name, to: option.repeats ? "[\(words.joined(separator: ", "))]" : words.joined(),
            inTableAt: mount.line)
        var expected = before
        expected.mounts[index].options[option.name] = values
        guard isSet, let after = try? reader.read(edit.text),
            after.withoutLines == expected.withoutLines
        else {
            throw ConfigurationError(
                .content, "\(path) could not be changed: write \(option.name) = \(words.joined()) there.")
        }
        return edit.text
    }
}

extension Configuration {
    fileprivate var withoutLines: Configuration {
        var copy = self
        for index in copy.mounts.indices { copy.mounts[index].line = 0 }
        return copy
    }
}
