// The kernels of the CUDA demonstration. kernels.ptx is made of this file for compute capability 5.0, so that a driver
// alone can run them (README.md says how); where nvcc is there, this file is compiled for each device as well.

extern "C" __global__ void triad(float* a, const float* b, const float* c, float s, unsigned int n) {
  const unsigned int stride = gridDim.x * blockDim.x;
  for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) a[i] = b[i] + s * c[i];
}

// Gravity of all bodies on each, a tile of 256 bodies at a time in shared memory; n is a multiple of 256.
extern "C" __global__ void bodies(float4* out, const float4* body, unsigned int n, float softening) {
  __shared__ float4 tile[256];
  const unsigned int i = blockIdx.x * 256 + threadIdx.x;
  const float4 me = body[i];
  float x = 0, y = 0, z = 0;
  for (unsigned int first = 0; first < n; first += 256) {
    tile[threadIdx.x] = body[first + threadIdx.x];
    __syncthreads();
#pragma unroll 16
    for (unsigned int j = 0; j < 256; ++j) {
      const float4 other = tile[j];
      const float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
      const float force = other.w * inverse * inverse * inverse;
      x += force * dx;
      y += force * dy;
      z += force * dz;
    }
    __syncthreads();
  }
  out[i] = make_float4(x, y, z, 0);
}
