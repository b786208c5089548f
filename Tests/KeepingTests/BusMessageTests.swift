import Base
import TestSupport
import Testing

@testable import Keeping

@Suite("Messages of the system bus")
struct BusMessageTests {
    /// A reply as a bus writes it, with the number as a variant.
    private func reply(_ number: UInt32, to serial: UInt32, isLittle: Bool = true) -> [UInt8] {
        func four(_ value: UInt32) -> [UInt8] {
            let bytes = (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
            return isLittle ? bytes : bytes.reversed()
        }
        // Reply serial, then the signature.
        let fields: [UInt8] =
            [5, 1] + Array("u\0".utf8) + four(serial) + [8, 1] + Array("g\0".utf8) + [1] + Array("v\0".utf8)
        let body: [UInt8] = [1] + Array("u\0".utf8) + [0] + four(number)
        var message: [UInt8] = [UInt8(ascii: isLittle ? "l" : "B"), 2, 1, 1]
        message += four(UInt32(body.count)) + four(7) + four(UInt32(fields.count)) + fields
        while message.count % 8 != 0 { message.append(0) }
        return message + body
    }

    @Test("a call is written as the specification wants it")
    func call() throws {
        let bytes = BusMessage.call("Get", of: "a.b", at: "/c", destination: "d.e", serial: 9, ["x", "yz"])
        #expect(try BusMessage.length(of: bytes) == bytes.count)
        let message = try BusMessage(bytes)
        #expect(message.kind == .call && message.member == "Get" && message.number == nil)
        #expect(Array(bytes[..<16]) == [108, 1, 2, 1, 15, 0, 0, 0, 9, 0, 0, 0, 72, 0, 0, 0])
        #expect(Array(bytes.suffix(15)) == [1, 0, 0, 0, 120, 0, 0, 0, 2, 0, 0, 0, 121, 122, 0])
    }

    @Test("an answer is read in both orders of bytes", arguments: [true, false])
    func answer(isLittle: Bool) throws {
        let message = try BusMessage(reply(0x0102_0304, to: 77, isLittle: isLittle))
        #expect(message.kind == .reply && message.replySerial == 77 && message.number == 0x0102_0304)
    }

    @Test(
        "whatever else comes is read as something or refused, and never longer than it is", arguments: 0..<20)
    func mutated(seed: Int) throws {
        var generator = SeededGenerator(state: UInt64(seed) + 5)
        let samples = [
            reply(4, to: 3), reply(4, to: 3, isLittle: false),
            BusMessage.call("Hello", of: "a.b", at: "/c", destination: "d.e", serial: 9, ["x"]),
        ]
        for _ in 0..<2000 {
            var bytes = samples.randomElement(using: &generator) ?? []
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                bytes[place] = UInt8.random(in: 0...255, using: &generator)
            }
            bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &generator)))
            guard let length = try? BusMessage.length(of: bytes) else { continue }
            #expect(16...BusMessage.maxLength ~= length)
            if length != bytes.count { #expect(throws: KeepingError.self) { try BusMessage(bytes) } }
            _ = try? BusMessage(bytes)
        }
    }
}
