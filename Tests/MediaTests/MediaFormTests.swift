import Base
import ChatCore
import Testing

@testable import Media

/// Files sent in a requested form.
@Suite struct MediaFormTests {
    private static let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 0]

    private func kind(_ form: MediaForm, _ bytes: [UInt8]) throws -> MessageContent.Kind {
        try MediaInspection.kind(as: form, size: UInt64(bytes.count)) { offset, count in
            offset < UInt64(bytes.count) ? Array(bytes[Int(offset)...].prefix(count)) : []
        }
    }

    private func recording(seconds: UInt32) -> [UInt8] {
        func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.append(bigEndian: UInt32(content.count + 8))
            return bytes + Array(type.utf8) + content
        }
        var header = [UInt8](repeating: 0, count: 12)
        header.append(bigEndian: 1 as UInt32)
        header.append(bigEndian: seconds)
        header += [UInt8](repeating: 0, count: 80)
        return box("ftyp", Array("M4A 0000".utf8)) + box("moov", box("mvhd", header))
    }

    private func refusal(_ form: MediaForm, _ bytes: [UInt8]) -> String? {
        do {
            _ = try kind(form, bytes)
            return nil
        } catch let error as ChatError {
            return error.code == .invalidCommand ? error.sentence : nil
        } catch {
            return nil
        }
    }

    @Test func anyContentCanBeAFile() throws {
        #expect(try kind(.file, Self.jpeg) == .file)
        #expect(try kind(.file, []) == .file)
    }

    @Test func picturesCanBeImages() throws {
        #expect(try kind(.image, Self.jpeg) == .image(preview: ""))
        #expect(refusal(.image, Array("text".utf8))?.contains("JPEG, PNG, GIF, WebP") == true)
    }

    @Test func recordingsOfAnyNameCanBeVoice() throws {
        #expect(try kind(.voice, recording(seconds: 300)) == .voice(seconds: 300))
        #expect(refusal(.voice, recording(seconds: 301))?.contains("this recording has 301") == true)
        #expect(refusal(.voice, Self.jpeg)?.contains("M4A, Ogg Opus") == true)
    }

    @Test func videosNeedADuration() throws {
        #expect(try kind(.video, recording(seconds: 4000)) == .video(preview: "", seconds: 4000))
        #expect(refusal(.video, Self.jpeg)?.contains("Matroska") == true)
    }
}
