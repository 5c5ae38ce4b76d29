// The functions of the fake driver, as the table names them.
#pragma once
#include "device/driver_table.hpp"

namespace mgemm::fake::calls {

using cuda::Result;

Result get_error_name(Result error, const char** name);
Result get_error_string(Result error, const char** text);
Result init(unsigned);
Result driver_get_version(int* version);
Result device_get_count(int* count);
Result device_get(cuda::Device* device, int ordinal);
Result device_get_name(char* name, int length, cuda::Device device);
Result device_get_attribute(int* value, cuda::DeviceAttribute attribute, cuda::Device device);
Result device_total_mem(std::size_t* bytes, cuda::Device device);
Result device_get_uuid(cuda::Uuid* uuid, cuda::Device device);
Result primary_retain(cuda::Context* context, cuda::Device device);
Result primary_release(cuda::Device device);
Result ctx_get_current(cuda::Context* context);
Result ctx_push_current(cuda::Context context);
Result ctx_pop_current(cuda::Context* context);
Result ctx_get_device(cuda::Device* device);
Result ctx_get_id(cuda::Context context, unsigned long long* id);
Result stream_create(cuda::Stream* stream, unsigned);
Result stream_destroy(cuda::Stream stream);
Result stream_synchronize(cuda::Stream stream);
Result stream_wait_event(cuda::Stream stream, cuda::Event event, unsigned);
Result stream_get_ctx(cuda::Stream stream, cuda::Context* context);
Result stream_is_capturing(cuda::Stream stream, cuda::CaptureStatus* status);
Result event_create(cuda::Event* event, unsigned);
Result event_record(cuda::Event event, cuda::Stream stream);
Result event_synchronize(cuda::Event event);
Result event_elapsed_time(float* milliseconds, cuda::Event start, cuda::Event end);
Result event_destroy(cuda::Event event);
Result mem_alloc(cuda::DevicePtr* pointer, std::size_t bytes);
Result mem_free(cuda::DevicePtr pointer);
Result mem_get_info(std::size_t* available, std::size_t* total);
Result copy_host_to_device(cuda::DevicePtr to, const void* from, std::size_t bytes, cuda::Stream stream);
Result copy_device_to_host(void* to, cuda::DevicePtr from, std::size_t bytes, cuda::Stream stream);
Result copy_device_to_device(cuda::DevicePtr to, cuda::DevicePtr from, std::size_t bytes, cuda::Stream stream);
Result copy_2d(const cuda::Memcpy2D* copy, cuda::Stream stream);
Result memset_d32(cuda::DevicePtr to, unsigned value, std::size_t count, cuda::Stream stream);
Result pointer_get_attribute(void* data, cuda::PointerAttribute attribute, cuda::DevicePtr pointer);
Result module_load(cuda::Module* module, const void* image, unsigned, cuda::JitOption*, void**);
Result module_unload(cuda::Module module);
Result module_get_function(cuda::Function* function, cuda::Module module, const char* name);
Result func_get_attribute(int* value, cuda::FunctionAttribute attribute, cuda::Function function);
Result func_set_attribute(cuda::Function function, cuda::FunctionAttribute attribute, int value);
Result launch_kernel(cuda::Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                     unsigned block_y, unsigned block_z, unsigned shared_bytes, cuda::Stream stream, void** parameters,
                     void** extra);
Result launch_kernel_ex(const cuda::LaunchConfig* config, cuda::Function function, void** parameters, void** extra);
Result tensor_map_encode(cuda::TensorMap* map, cuda::TensorMapDataType type, std::uint32_t rank, void* address,
                         const std::uint64_t* extents, const std::uint64_t* strides, const std::uint32_t* box,
                         const std::uint32_t* element_strides, cuda::TensorMapInterleave interleave,
                         cuda::TensorMapSwizzle swizzle, cuda::TensorMapL2Promotion promotion,
                         cuda::TensorMapFill fill);
Result occupancy(int* blocks, cuda::Function function, int threads, std::size_t shared_bytes);

}  // namespace mgemm::fake::calls
