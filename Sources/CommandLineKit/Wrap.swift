/// Wraps text between words.
enum Wrap {
    /// Returns the paragraphs between empty lines, each as one line.
    static func paragraphs(_ text: String) -> [String] {
        var result: [[Substring]] = [[]]
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.isEmpty { result.append([]) } else { result[result.count - 1].append(line) }
        }
        return result.filter { !$0.isEmpty }.map { $0.joined(separator: " ") }
    }

    /// Wraps to lines of at most `width` characters, each after `indent` spaces. A longer word gets a line of its own.
    static func paragraph(_ text: String, width: Int, indent: Int = 0) -> String {
        let margin = String(repeating: " ", count: indent)
        return lines(text, width: width - indent).map { margin + $0 }.joined(separator: "\n")
    }

    /// Puts the first line after `start` and indents the others to its end.
    static func hanging(_ start: String, _ text: String, width: Int) -> String {
        let body = paragraph(text, width: width, indent: start.count)
        return start + body.dropFirst(start.count)
    }

    static func lines(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        // A bracket such as `[--relay ADDR]` is not broken.
        for word in words(text) {
            if !line.isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return line.isEmpty && !lines.isEmpty ? lines : lines + [line]
    }

    private static func words(_ text: String) -> [String] {
        var words: [String] = []
        var isOpen = false
        for word in text.split(separator: " ") {
            if isOpen {
                words[words.count - 1] += " " + word
            } else {
                words.append(String(word))
            }
            if word.contains("[") { isOpen = true }
            if word.contains("]") { isOpen = false }
        }
        return words
    }
}
