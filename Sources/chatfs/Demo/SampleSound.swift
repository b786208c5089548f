/// Generated sound of waves, as a WAV file.
enum SampleSound {
    static let seconds = 45
    static let rate = 44_100

    /// 16-bit mono PCM, always the same; about 4 MB, so it is sent through the relay.
    static func wav() -> [UInt8] {
        let count = seconds * rate
        var bytes = Array("RIFF".utf8) + littleEndian(UInt32(36 + count * 2)) + Array("WAVEfmt ".utf8)
        // Length of this part, PCM, one channel, samples and bytes per second, bytes and bits per sample.
        bytes +=
            littleEndian(16) + [1, 0, 1, 0] + littleEndian(UInt32(rate)) + littleEndian(UInt32(rate * 2))
        bytes += [2, 0, 16, 0] + Array("data".utf8) + littleEndian(UInt32(count * 2))
        bytes.reserveCapacity(44 + count * 2)
        var state: UInt64 = 0x2545_F491_4F6C_DD1D
        var low = 0
        for index in 0..<count {
            // Noise (xorshift64) through a low pass, swelling every five seconds.
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            low += (Int(Int16(truncatingIfNeeded: state)) - low) / 8
            let phase = index % (rate * 5)
            let swell = phase < rate * 3 ? phase / 30 : (rate * 5 - phase) / 20
            let sample = Int16(clamping: low * (400 + swell) / 6_000)
            bytes += [UInt8(truncatingIfNeeded: sample), UInt8(truncatingIfNeeded: sample >> 8)]
        }
        return bytes
    }

    private static func littleEndian(_ value: UInt32) -> [UInt8] {
        [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}
