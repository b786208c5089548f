import TestSupport
import Testing

@testable import Base
@testable import CommandLineKit

@Suite("Wrapping")
struct WrapTests {
    @Test("lines fit the width exactly")
    func exact() {
        #expect(Wrap.lines("aaa bbb cc", width: 7) == ["aaa bbb", "cc"])
        #expect(Wrap.lines("aaa bbb cc", width: 6) == ["aaa", "bbb cc"])
        #expect(Wrap.lines("aaa bbb cc", width: 10) == ["aaa bbb cc"])
        #expect(Wrap.lines("", width: 10) == [""])
        #expect(Wrap.lines("   ", width: 10) == [""])
    }

    @Test("long words and brackets stay whole")
    func longWords() {
        #expect(Wrap.lines("a 0123456789 b", width: 5) == ["a", "0123456789", "b"])
        #expect(
            Wrap.lines("send [--relay ADDR]… [-q] X", width: 14) == ["send", "[--relay ADDR]…", "[-q] X"])
        #expect(Wrap.lines("a [b] [c d] e", width: 7) == ["a [b]", "[c d] e"])
    }

    @Test("no word is lost at any width")
    func model() {
        var generator = SeededGenerator(state: 11)
        for _ in 0..<300 {
            let words = (0..<Int.random(in: 1...40, using: &generator)).map { _ in
                String(repeating: "w", count: .random(in: 1...15, using: &generator))
            }
            let width = Int.random(in: 1...40, using: &generator)
            let lines = Wrap.lines(words.joined(separator: " "), width: width)
            #expect(lines.joined(separator: " ") == words.joined(separator: " "))
            #expect(lines.allSatisfy { $0.count <= width || !$0.contains(" ") })
            // No line had room for the next line's first word.
            for (line, next) in zip(lines, lines.dropFirst()) {
                #expect(line.count + 1 + next.prefix { $0 != " " }.count > width)
            }
        }
    }

    @Test("later lines are indented")
    func hanging() {
        #expect(Wrap.hanging("Usage: ", "aaa bbb", width: 11) == "Usage: aaa\n       bbb")
        #expect(Wrap.paragraph("aaa bbb", width: 6, indent: 2) == "  aaa\n  bbb")
    }

    @Test("empty lines separate paragraphs")
    func paragraphs() {
        #expect(Wrap.paragraphs("") == [])
        #expect(Wrap.paragraphs("\n\n") == [])
        #expect(Wrap.paragraphs("a\nb\n\n\nc\n") == ["a b", "c"])
        #expect(Wrap.paragraphs("\na") == ["a"])
    }

    @Test("text is padded, never cut")
    func padded() {
        #expect("ab".padded(to: 4) == "ab  " && "ab".padded(to: 2) == "ab" && "ab".padded(to: 1) == "ab")
    }

    @Test("word distance is a metric")
    func distances() {
        #expect(NearestWord.distance("", "abc") == 3 && NearestWord.distance("abc", "") == 3)
        #expect(NearestWord.distance("ab", "ba") == 1 && NearestWord.distance("abcd", "badc") == 2)
        #expect(NearestWord.distance("kitten", "sitting") == 3)
        let words = ["mount", "unmount", "muont", "count", "m", "", "status", "mouth"]
        for left in words {
            #expect(NearestWord.distance(left, left) == 0)
            for right in words {
                #expect(NearestWord.distance(left, right) == NearestWord.distance(right, left))
                #expect(NearestWord.distance(left, right) >= abs(left.count - right.count))
                #expect(NearestWord.distance(left, right) <= max(left.count, right.count))
            }
        }
    }

    @Test("a third of the letters may differ")
    func nearest() {
        #expect(NearestWord.nearest(to: "abcxyf", among: ["abcdef"]) == "abcdef")
        #expect(NearestWord.nearest(to: "abxxyf", among: ["abcdef"]) == nil)
        #expect(NearestWord.nearest(to: "dehy", among: ["hydrate", "dehydrate"]) == "dehydrate")
        #expect(NearestWord.nearest(to: "de", among: ["dehydrate"]) == nil)
        #expect(NearestWord.nearest(to: "moun", among: ["mounts", "mount"]) == "mount")
        #expect(NearestWord.nearest(to: "x", among: []) == nil)
        #expect(Suggestion.text(for: "mout", among: ["mount"]) == "; did you mean 'mount'?")
        #expect(Suggestion.text(for: "zzz", among: ["mount"]) == "")
    }
}
