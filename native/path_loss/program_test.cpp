// What must be true of the program as a whole: its exit codes and its events.
#include <string>

#include "testing/expect_program.hpp"

int main() {
  shakedown::Checks checks;
  const std::string small = "--radios 30 --points 60 --side 129 --threads 1 --samples 2 ";
  expect(checks, small, 0, "\"ok\":true", "\"links\":435,\"points\":26100");
  // Steps whose last bit decides: a length times 1/99 is not a length divided by 99.
  expect(checks, "--radios 200 --points 100 --side 257 --samples 1", 0, "\"ok\":true");
  expect(checks, small + "--threads 1,2 --isa plain --radios 2,9", 0,
         "\"n\":9,\"points\":60,\"precision\":\"fp64\",\"heights\":\"int16\",\"threads\":2");
  expect(checks, small + "--no-verify --polarization horizontal --climate 7", 0, "\"ok\":true");
  expect(checks, small + "--precision fp64,fp32 --heights float32", 0,
         "\"precision\":\"fp32\",\"heights\":\"float32\"");
  // 30 * 29 / 2 links less those of the 27 that stay; what moved and what did not is checked against the plain form.
  expect(checks, small + "--moved 3 --samples 7 --threads 2", 0, "\"links\":84,\"points\":5040");
  expect(checks, small + "--moved 0,1,30 --precision fp32", 0, "\"kernel\":\"itm_moved\"");
  expect(checks, small + "--precision fp32 --break-loss-db 0.1", 1, "third largest difference");
  expect(checks, small + "--moved 31", 2, "--moved 31 of 30 radios");
  expect(checks, small + "--precision fp16", 2, "--precision 'fp16' is not known");
  expect(checks, small + "--heights int8", 2, "--heights 'int8' is not known");
  expect(checks, small + "--break-loss-db 0.01", 1, "path_loss: 1 of 1 checks failed; the first: itm {\"n\":30");
  expect(checks, small + "--break-loss-db 0.01 --no-verify", 0, "\"ok\":true");
  expect(checks, small + "--relief-m 0", 0, "\"ok\":true");
  expect(checks, small + "--relief-m 9001", 2, "above 9000");
  expect(checks, small + "--frequency-mhz 20001", 2, "not 20 to 20000 MHz");
  expect(checks, small + "--frequency-mhz 5", 2, "--frequency-mhz '5'");
  expect(checks, small + "--antenna-m 3001", 2, "not 0.5 to 3000 m");
  expect(checks, small + "--polarization circular", 2, "vertical or horizontal");
  expect(checks, "--radios 1", 2, "--radios '1'");
  expect(checks, "--radios 100001", 2, "above 100000");
  expect(checks, "--points 1", 2, "--points '1'");
  expect(checks, "--side 2", 2, "--side '2'");
  expect(checks, "--isa avx", 2, "unknown instruction set");
  expect(checks, "--radio 10", 2, "did you mean --radios?");
  return checks.end();
}
