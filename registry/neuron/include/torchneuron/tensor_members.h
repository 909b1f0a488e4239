// Members of class Tensor; included inside the class.
 public:
  template <typename T, size_t N>
  torch::TensorAccessor<T, N, true> accessor(torchneuron::Place place = torchneuron::Place::here()) const&;
  template <typename T, size_t N>
  torch::TensorAccessor<T, N, false> accessor(torchneuron::Place place = torchneuron::Place::here()) &;
  template <typename T, size_t N>
  torch::TensorAccessor<T, N, false> accessor() && = delete;

  template <typename T>
  torch::TensorReadStreamAccessor<T> read_stream_accessor(
      torchneuron::Place place = torchneuron::Place::here()) const&;
  template <typename T>
  torch::TensorWriteStreamAccessor<T> write_stream_accessor(
      torchneuron::Place place = torchneuron::Place::here()) &;

  torch::TensorTcmAccessor<true> tcm_accessor(torchneuron::Place place = torchneuron::Place::here()) const&;
  torch::TensorTcmAccessor<false> tcm_accessor(torchneuron::Place place = torchneuron::Place::here()) &;

  torch::CoherencyEnforcer::Policy get_accessor_coherence_policy(
      torchneuron::Place place = torchneuron::Place::here()) const;
  void set_accessor_coherence_policy(torch::CoherencyEnforcer::Policy policy,
                                     torchneuron::Place place = torchneuron::Place::here()) const;
